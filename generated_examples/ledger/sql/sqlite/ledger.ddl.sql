-- From tables.toml: edit that and run `sqlclaimgen build`.
-- format 1 · form lease · sqlite

-- Times are integers: microseconds since 1970, UTC.
CREATE TABLE "ledger" (
    "entry" INTEGER PRIMARY KEY AUTOINCREMENT,
    "account" INTEGER NOT NULL, -- The queue within the table.
    "book_after" INTEGER NOT NULL DEFAULT (CAST(ROUND((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000) CHECK (typeof("book_after") IN ('integer')), -- The row is not due before.
    "attempt" INTEGER NOT NULL DEFAULT 1, -- Number of the next delivery, from 1. Each claim adds one.
    "locked_until" INTEGER CHECK (typeof("locked_until") IN ('integer', 'null')), -- Lease: the row is held until then. NULL: free.
    "booked_at" INTEGER CHECK (typeof("booked_at") IN ('integer', 'null')), -- When the row was finished. NULL: not yet.
    "cents" INTEGER NOT NULL,
    "text" TEXT NOT NULL DEFAULT ''
);

-- finding the head of a group (claim, claim_table, walk) relies on it.
CREATE INDEX "ledger_claim" ON "ledger"
    ("account", "entry") WHERE "booked_at" IS NULL;

-- seeing whether a group is in work (claim, claim_table, walk) relies on it.
CREATE INDEX "ledger_work" ON "ledger"
    ("account", "locked_until") WHERE "booked_at" IS NULL AND "locked_until" IS NOT NULL;

-- purge relies on it.
CREATE INDEX "ledger_purge" ON "ledger"
    ("booked_at") WHERE "booked_at" IS NOT NULL;

-- Dead letters.
CREATE TABLE "ledger_rejected" (
    "entry" INTEGER NOT NULL PRIMARY KEY,
    "account" INTEGER,
    "book_after" INTEGER CHECK (typeof("book_after") IN ('integer', 'null')),
    "attempt" INTEGER,
    "locked_until" INTEGER CHECK (typeof("locked_until") IN ('integer', 'null')),
    "booked_at" INTEGER CHECK (typeof("booked_at") IN ('integer', 'null')),
    "cents" INTEGER,
    "text" TEXT DEFAULT '',
    "reason" TEXT,
    "error" TEXT,
    "died_at" INTEGER
);

-- redrive_oldest relies on it.
CREATE INDEX "ledger_rejected_oldest" ON "ledger_rejected"
    ("died_at", "entry");
