-- From tables.toml: edit that and run `sqlclaimgen build`.
-- format 1 · form lease · postgres

CREATE TABLE "report_jobs" (
    "job_id" bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    "queue" varchar(40) NOT NULL,
    "urgency" smallint NOT NULL DEFAULT 0,
    "customer" varchar(80) NOT NULL,
    "retry_after" timestamptz(6) NOT NULL DEFAULT clock_timestamp(),
    "attempt" integer NOT NULL DEFAULT 1,
    "locked_until" timestamptz(6),
    "processed_at" timestamptz(6),
    "payload" jsonb NOT NULL,
    "note" text
) WITH (
    fillfactor = 70,
    autovacuum_vacuum_scale_factor = 0,
    autovacuum_vacuum_threshold = 2000,
    autovacuum_vacuum_cost_delay = 0
);

-- claim relies on it.
CREATE INDEX "report_jobs_claim" ON "report_jobs"
    ("queue", "urgency", "retry_after", "job_id") WHERE "processed_at" IS NULL;

-- claim_table relies on it.
CREATE INDEX "report_jobs_claim_table" ON "report_jobs"
    ("urgency", "retry_after", "job_id") WHERE "processed_at" IS NULL;

-- purge relies on it.
CREATE INDEX "report_jobs_purge" ON "report_jobs"
    ("processed_at") WHERE "processed_at" IS NOT NULL;

COMMENT ON COLUMN "report_jobs"."queue" IS 'The queue within the table.';
COMMENT ON COLUMN "report_jobs"."urgency" IS 'Smaller is more urgent.';
COMMENT ON COLUMN "report_jobs"."customer" IS 'One worker process runs the rows of one key that it has claimed one at a time.';
COMMENT ON COLUMN "report_jobs"."retry_after" IS 'The row is not due before.';
COMMENT ON COLUMN "report_jobs"."attempt" IS 'Number of the next delivery, from 1. Each claim adds one.';
COMMENT ON COLUMN "report_jobs"."locked_until" IS 'Lease: the row is held until then. NULL: free.';
COMMENT ON COLUMN "report_jobs"."processed_at" IS 'When the row was finished. NULL: not yet.';

-- Dead letters.
CREATE TABLE "report_jobs_dead" (
    "job_id" bigint PRIMARY KEY,
    "queue" varchar(40),
    "urgency" smallint DEFAULT 0,
    "customer" varchar(80),
    "retry_after" timestamptz(6),
    "attempt" integer,
    "locked_until" timestamptz(6),
    "processed_at" timestamptz(6),
    "payload" jsonb,
    "note" text,
    "reason" text,
    "error" text,
    "died_at" timestamptz(6)
);

-- redrive_oldest relies on it.
CREATE INDEX "report_jobs_dead_oldest" ON "report_jobs_dead"
    ("died_at", "job_id");
