-- From tables.toml: edit that and run `sqlclaimgen build`.
-- format 1 · form advisory lock · mariadb

CREATE TABLE `payouts` (
    `id` char(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    `account` varchar(34) CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin NOT NULL,
    `due_at` datetime(6) NOT NULL DEFAULT (UTC_TIMESTAMP(6)) COMMENT 'The row is not due before.',
    `attempt` int NOT NULL DEFAULT 1 COMMENT 'Number of the next delivery, from 1. Each claim adds one.',
    `paid_at` datetime(6) NULL COMMENT 'When the row was finished. NULL: not yet.',
    `last_error` longtext NULL COMMENT 'What went wrong the last time.',
    `amount` decimal(12,2) NOT NULL,
    `currency` varchar(3) NOT NULL DEFAULT 'EUR',
    PRIMARY KEY (`id`),
    -- claim and purge rely on it.
    KEY `payouts_claim` (`paid_at`, `due_at`, `id`)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4;

-- Dead letters.
CREATE TABLE `payouts_failed` (
    `id` char(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    `account` varchar(34) CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin NULL,
    `due_at` datetime(6) NULL,
    `attempt` int NULL,
    `paid_at` datetime(6) NULL,
    `last_error` longtext NULL,
    `amount` decimal(12,2) NULL,
    `currency` varchar(3) NULL DEFAULT 'EUR',
    `reason` longtext NULL,
    `error` longtext NULL,
    `failed_at` datetime(6) NULL,
    PRIMARY KEY (`id`),
    -- redrive_oldest relies on it.
    KEY `payouts_failed_oldest` (`failed_at`, `id`)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4;
