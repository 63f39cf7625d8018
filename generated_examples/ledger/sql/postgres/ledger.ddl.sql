-- From tables.toml: edit that and run `sqlclaimgen build`.
-- format 1 · form lease · postgres

CREATE TABLE "ledger" (
    "entry" bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    "account" bigint NOT NULL,
    "book_after" timestamptz(6) NOT NULL DEFAULT clock_timestamp(),
    "attempt" integer NOT NULL DEFAULT 1,
    "locked_until" timestamptz(6),
    "booked_at" timestamptz(6),
    "cents" bigint NOT NULL,
    "text" varchar(200) NOT NULL DEFAULT ''
) WITH (
    fillfactor = 70,
    autovacuum_vacuum_scale_factor = 0,
    autovacuum_vacuum_threshold = 2000,
    autovacuum_vacuum_cost_delay = 0
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

COMMENT ON COLUMN "ledger"."account" IS 'The queue within the table.';
COMMENT ON COLUMN "ledger"."book_after" IS 'The row is not due before.';
COMMENT ON COLUMN "ledger"."attempt" IS 'Number of the next delivery, from 1. Each claim adds one.';
COMMENT ON COLUMN "ledger"."locked_until" IS 'Lease: the row is held until then. NULL: free.';
COMMENT ON COLUMN "ledger"."booked_at" IS 'When the row was finished. NULL: not yet.';

-- Dead letters.
CREATE TABLE "ledger_rejected" (
    "entry" bigint PRIMARY KEY,
    "account" bigint,
    "book_after" timestamptz(6),
    "attempt" integer,
    "locked_until" timestamptz(6),
    "booked_at" timestamptz(6),
    "cents" bigint,
    "text" varchar(200) DEFAULT '',
    "reason" text,
    "error" text,
    "died_at" timestamptz(6)
);

-- redrive_oldest relies on it.
CREATE INDEX "ledger_rejected_oldest" ON "ledger_rejected"
    ("died_at", "entry");
