-- From tables.toml: edit that and run `sqlclaimgen build`.
-- format 1 · form lease · postgres

CREATE TABLE "Job Queue" (
    "Job No" varchar(40) PRIMARY KEY,
    "class" varchar(40) NOT NULL,
    "Due" timestamptz(6) NOT NULL DEFAULT clock_timestamp(),
    "Locked" timestamptz(6),
    "tries" integer NOT NULL DEFAULT 1,
    "State" smallint NOT NULL DEFAULT 0,
    "Done At" timestamptz(6),
    "last error" varchar(500),
    "reply-to" varchar(200)
) WITH (
    fillfactor = 70,
    autovacuum_vacuum_scale_factor = 0,
    autovacuum_vacuum_threshold = 2000,
    autovacuum_vacuum_cost_delay = 0
);

-- claim relies on it.
CREATE INDEX "Job Queue_claim" ON "Job Queue"
    ("Due", "Job No") WHERE "State" = 0;

-- purge relies on it.
CREATE INDEX "Job Queue_purge" ON "Job Queue"
    ("Done At") WHERE "State" = 1;

-- redrive_oldest relies on it.
CREATE INDEX "Job Queue_given_up" ON "Job Queue"
    ("Done At", "Job No") WHERE "State" = 9;

COMMENT ON COLUMN "Job Queue"."Due" IS 'The row is not due before.';
COMMENT ON COLUMN "Job Queue"."Locked" IS 'Lease: the row is held until then. NULL: free.';
COMMENT ON COLUMN "Job Queue"."tries" IS 'Number of the next delivery, from 1. Each claim adds one.';
COMMENT ON COLUMN "Job Queue"."State" IS 'Whether the row waits, is finished, or was given up.';
COMMENT ON COLUMN "Job Queue"."Done At" IS 'When the row was finished. NULL: not yet.';
COMMENT ON COLUMN "Job Queue"."last error" IS 'What went wrong the last time.';
