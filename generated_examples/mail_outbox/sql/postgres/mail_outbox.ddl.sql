-- From tables.toml: edit that and run `sqlclaimgen build`.
-- format 1 · form row lock · postgres

CREATE TABLE "mail_outbox" (
    "id" bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    "urgency" smallint NOT NULL DEFAULT 0,
    "send_after" timestamptz(6) NOT NULL DEFAULT clock_timestamp(),
    "attempt" integer NOT NULL DEFAULT 1,
    "sent_at" timestamptz(6),
    "last_error" text,
    "once" varchar(80),
    "recipient" varchar(320) NOT NULL,
    "message" jsonb NOT NULL
) WITH (
    autovacuum_vacuum_scale_factor = 0,
    autovacuum_vacuum_threshold = 2000,
    autovacuum_vacuum_cost_delay = 0
);

-- claim relies on it.
CREATE INDEX "mail_outbox_claim" ON "mail_outbox"
    ("urgency", "send_after", "id") WHERE "sent_at" IS NULL;

-- enqueue relies on it.
CREATE UNIQUE INDEX "mail_outbox_dedupe" ON "mail_outbox"
    ("once");

-- purge relies on it.
CREATE INDEX "mail_outbox_purge" ON "mail_outbox"
    ("sent_at") WHERE "sent_at" IS NOT NULL;

COMMENT ON COLUMN "mail_outbox"."urgency" IS 'Smaller is more urgent.';
COMMENT ON COLUMN "mail_outbox"."send_after" IS 'The row is not due before.';
COMMENT ON COLUMN "mail_outbox"."attempt" IS 'Number of the next delivery, from 1; counted when a delivery gives its row back, so a crash adds none.';
COMMENT ON COLUMN "mail_outbox"."sent_at" IS 'When the row was finished. NULL: not yet.';
COMMENT ON COLUMN "mail_outbox"."last_error" IS 'What went wrong the last time.';
COMMENT ON COLUMN "mail_outbox"."once" IS 'At most one row with this key is queued.';
