-- From tables.toml: edit that and run `sqlclaimgen build`.
-- format 1 · form advisory lock · postgres

CREATE TABLE "payouts" (
    "id" uuid PRIMARY KEY,
    "account" varchar(34) NOT NULL,
    "due_at" timestamptz(6) NOT NULL DEFAULT clock_timestamp(),
    "attempt" integer NOT NULL DEFAULT 1,
    "paid_at" timestamptz(6),
    "last_error" text,
    "amount" numeric(12,2) NOT NULL,
    "currency" varchar(3) NOT NULL DEFAULT 'EUR'
) WITH (
    autovacuum_vacuum_scale_factor = 0,
    autovacuum_vacuum_threshold = 2000,
    autovacuum_vacuum_cost_delay = 0
);

-- claim relies on it.
CREATE INDEX "payouts_claim" ON "payouts"
    ("due_at", "id") WHERE "paid_at" IS NULL;

-- purge relies on it.
CREATE INDEX "payouts_purge" ON "payouts"
    ("paid_at") WHERE "paid_at" IS NOT NULL;

COMMENT ON COLUMN "payouts"."due_at" IS 'The row is not due before.';
COMMENT ON COLUMN "payouts"."attempt" IS 'Number of the next delivery, from 1. Each claim adds one.';
COMMENT ON COLUMN "payouts"."paid_at" IS 'When the row was finished. NULL: not yet.';
COMMENT ON COLUMN "payouts"."last_error" IS 'What went wrong the last time.';

-- Dead letters.
CREATE TABLE "payouts_failed" (
    "id" uuid PRIMARY KEY,
    "account" varchar(34),
    "due_at" timestamptz(6),
    "attempt" integer,
    "paid_at" timestamptz(6),
    "last_error" text,
    "amount" numeric(12,2),
    "currency" varchar(3) DEFAULT 'EUR',
    "reason" text,
    "error" text,
    "failed_at" timestamptz(6)
);

-- redrive_oldest relies on it.
CREATE INDEX "payouts_failed_oldest" ON "payouts_failed"
    ("failed_at", "id");
