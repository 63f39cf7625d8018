-- From tables.toml: edit that and run `sqlclaimgen build`.
-- format 1 · form advisory lock · sqlite

-- Times are integers: microseconds since 1970, UTC.
CREATE TABLE "payouts" (
    "id" TEXT NOT NULL PRIMARY KEY,
    "account" TEXT NOT NULL,
    "due_at" INTEGER NOT NULL DEFAULT (CAST(ROUND((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000) CHECK (typeof("due_at") IN ('integer')), -- The row is not due before.
    "attempt" INTEGER NOT NULL DEFAULT 1, -- Number of the next delivery, from 1. Each claim adds one.
    "paid_at" INTEGER CHECK (typeof("paid_at") IN ('integer', 'null')), -- When the row was finished. NULL: not yet.
    "last_error" TEXT, -- What went wrong the last time.
    "amount" TEXT NOT NULL,
    "currency" TEXT NOT NULL DEFAULT 'EUR'
);

-- claim relies on it.
CREATE INDEX "payouts_claim" ON "payouts"
    ("due_at", "id") WHERE "paid_at" IS NULL;

-- purge relies on it.
CREATE INDEX "payouts_purge" ON "payouts"
    ("paid_at") WHERE "paid_at" IS NOT NULL;

-- Dead letters.
CREATE TABLE "payouts_failed" (
    "id" TEXT NOT NULL PRIMARY KEY,
    "account" TEXT,
    "due_at" INTEGER CHECK (typeof("due_at") IN ('integer', 'null')),
    "attempt" INTEGER,
    "paid_at" INTEGER CHECK (typeof("paid_at") IN ('integer', 'null')),
    "last_error" TEXT,
    "amount" TEXT,
    "currency" TEXT DEFAULT 'EUR',
    "reason" TEXT,
    "error" TEXT,
    "failed_at" INTEGER
);

-- redrive_oldest relies on it.
CREATE INDEX "payouts_failed_oldest" ON "payouts_failed"
    ("failed_at", "id");
