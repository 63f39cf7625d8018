-- From tables.toml: edit that and run `sqlclaimgen build`.
-- format 1 · form lease · mysql

CREATE TABLE `ledger` (
    `entry` bigint NOT NULL AUTO_INCREMENT,
    `account` bigint NOT NULL COMMENT 'The queue within the table.',
    `book_after` datetime(6) NOT NULL DEFAULT (UTC_TIMESTAMP(6)) COMMENT 'The row is not due before.',
    `attempt` int NOT NULL DEFAULT 1 COMMENT 'Number of the next delivery, from 1. Each claim adds one.',
    `locked_until` datetime(6) NULL COMMENT 'Lease: the row is held until then. NULL: free.',
    `booked_at` datetime(6) NULL COMMENT 'When the row was finished. NULL: not yet.',
    `cents` bigint NOT NULL,
    `text` varchar(200) NOT NULL DEFAULT '',
    PRIMARY KEY (`entry`),
    -- finding the head of a group (claim, claim_table, walk) and purge rely on it.
    KEY `ledger_claim` (`booked_at`, `account`, `entry`),
    -- seeing whether a group is in work (claim, claim_table, walk) relies on it.
    KEY `ledger_work` (`booked_at`, `account`, `locked_until`)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4;

-- Dead letters.
CREATE TABLE `ledger_rejected` (
    `entry` bigint NOT NULL,
    `account` bigint NULL,
    `book_after` datetime(6) NULL,
    `attempt` int NULL,
    `locked_until` datetime(6) NULL,
    `booked_at` datetime(6) NULL,
    `cents` bigint NULL,
    `text` varchar(200) NULL DEFAULT '',
    `reason` longtext NULL,
    `error` longtext NULL,
    `died_at` datetime(6) NULL,
    PRIMARY KEY (`entry`),
    -- redrive_oldest relies on it.
    KEY `ledger_rejected_oldest` (`died_at`, `entry`)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4;
