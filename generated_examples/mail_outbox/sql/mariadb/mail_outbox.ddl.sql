-- From tables.toml: edit that and run `sqlclaimgen build`.
-- format 1 · form row lock · mariadb

CREATE TABLE `mail_outbox` (
    `id` bigint NOT NULL AUTO_INCREMENT,
    `urgency` smallint NOT NULL DEFAULT 0 COMMENT 'Smaller is more urgent.',
    `send_after` datetime(6) NOT NULL DEFAULT (UTC_TIMESTAMP(6)) COMMENT 'The row is not due before.',
    `attempt` int NOT NULL DEFAULT 1 COMMENT 'Number of the next delivery, from 1; counted when a delivery gives its row back, so a crash adds none.',
    `sent_at` datetime(6) NULL COMMENT 'When the row was finished. NULL: not yet.',
    `last_error` longtext NULL COMMENT 'What went wrong the last time.',
    `once` varchar(80) CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin NULL COMMENT 'At most one row with this key is queued.',
    `recipient` varchar(320) NOT NULL,
    `message` json NOT NULL,
    PRIMARY KEY (`id`),
    -- claim and purge rely on it.
    KEY `mail_outbox_claim` (`sent_at`, `urgency`, `send_after`, `id`),
    -- enqueue relies on it.
    UNIQUE KEY `mail_outbox_dedupe` (`once`)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4;
