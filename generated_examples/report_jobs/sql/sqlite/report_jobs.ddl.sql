-- From tables.toml: edit that and run `sqlclaimgen build`.
-- format 1 · form lease · sqlite

-- Times are integers: microseconds since 1970, UTC.
CREATE TABLE "report_jobs" (
    "job_id" INTEGER PRIMARY KEY AUTOINCREMENT,
    "queue" TEXT NOT NULL, -- The queue within the table.
    "urgency" INTEGER NOT NULL DEFAULT 0, -- Smaller is more urgent.
    "customer" TEXT NOT NULL, -- One worker process runs the rows of one key that it has claimed one at a time.
    "retry_after" INTEGER NOT NULL DEFAULT (CAST(ROUND((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000) CHECK (typeof("retry_after") IN ('integer')), -- The row is not due before.
    "attempt" INTEGER NOT NULL DEFAULT 1, -- Number of the next delivery, from 1. Each claim adds one.
    "locked_until" INTEGER CHECK (typeof("locked_until") IN ('integer', 'null')), -- Lease: the row is held until then. NULL: free.
    "processed_at" INTEGER CHECK (typeof("processed_at") IN ('integer', 'null')), -- When the row was finished. NULL: not yet.
    "payload" TEXT NOT NULL CHECK (json_valid("payload")),
    "note" TEXT
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

-- Dead letters.
CREATE TABLE "report_jobs_dead" (
    "job_id" INTEGER NOT NULL PRIMARY KEY,
    "queue" TEXT,
    "urgency" INTEGER DEFAULT 0,
    "customer" TEXT,
    "retry_after" INTEGER CHECK (typeof("retry_after") IN ('integer', 'null')),
    "attempt" INTEGER,
    "locked_until" INTEGER CHECK (typeof("locked_until") IN ('integer', 'null')),
    "processed_at" INTEGER CHECK (typeof("processed_at") IN ('integer', 'null')),
    "payload" TEXT CHECK ("payload" IS NULL OR json_valid("payload")),
    "note" TEXT,
    "reason" TEXT,
    "error" TEXT,
    "died_at" INTEGER
);

-- redrive_oldest relies on it.
CREATE INDEX "report_jobs_dead_oldest" ON "report_jobs_dead"
    ("died_at", "job_id");
