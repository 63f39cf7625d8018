-- From tables.toml: edit that and run `sqlclaimgen build`.
-- format 1 · form lease · postgres

CREATE TABLE "hooks"."calls" (
    "id" bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    "target" varchar(80) NOT NULL,
    "origin" varchar(80),
    "due" timestamptz(6) NOT NULL DEFAULT clock_timestamp(),
    "attempt" integer NOT NULL DEFAULT 1,
    "held_until" timestamptz(6),
    "error" text,
    "headers" jsonb,
    "body" json NOT NULL
) WITH (
    fillfactor = 70
);

-- claim relies on it.
CREATE INDEX "calls_claim" ON "hooks"."calls"
    ("target", "due", "id");

COMMENT ON COLUMN "hooks"."calls"."target" IS 'The queue within the table.';
COMMENT ON COLUMN "hooks"."calls"."origin" IS 'The group a dead letter came from.';
COMMENT ON COLUMN "hooks"."calls"."due" IS 'The row is not due before.';
COMMENT ON COLUMN "hooks"."calls"."attempt" IS 'Number of the next delivery, from 1. Each claim adds one.';
COMMENT ON COLUMN "hooks"."calls"."held_until" IS 'Lease: the row is held until then. NULL: free.';
COMMENT ON COLUMN "hooks"."calls"."error" IS 'What went wrong the last time.';
