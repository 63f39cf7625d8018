-- From tables.toml: edit that and run `sqlclaimgen build`.
-- format 1 · form lease · sqlite

-- Times are integers: microseconds since 1970, UTC.
CREATE TABLE "Job Queue" (
    "Job No" TEXT NOT NULL PRIMARY KEY,
    "class" TEXT NOT NULL,
    "Due" INTEGER NOT NULL DEFAULT (CAST(ROUND((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000) CHECK (typeof("Due") IN ('integer')), -- The row is not due before.
    "Locked" INTEGER CHECK (typeof("Locked") IN ('integer', 'null')), -- Lease: the row is held until then. NULL: free.
    "tries" INTEGER NOT NULL DEFAULT 1, -- Number of the next delivery, from 1. Each claim adds one.
    "State" INTEGER NOT NULL DEFAULT 0, -- Whether the row waits, is finished, or was given up.
    "Done At" INTEGER CHECK (typeof("Done At") IN ('integer', 'null')), -- When the row was finished. NULL: not yet.
    "last error" TEXT, -- What went wrong the last time.
    "reply-to" TEXT
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
