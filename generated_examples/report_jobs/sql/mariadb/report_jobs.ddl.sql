-- From tables.toml: edit that and run `sqlclaimgen build`.
-- format 1 · form lease · mariadb

CREATE TABLE `report_jobs` (
    `job_id` bigint NOT NULL AUTO_INCREMENT,
    `queue` varchar(40) CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin NOT NULL COMMENT 'The queue within the table.',
    `urgency` smallint NOT NULL DEFAULT 0 COMMENT 'Smaller is more urgent.',
    `customer` varchar(80) CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin NOT NULL COMMENT 'One worker process runs the rows of one key that it has claimed one at a time.',
    `retry_after` datetime(6) NOT NULL DEFAULT (UTC_TIMESTAMP(6)) COMMENT 'The row is not due before.',
    `attempt` int NOT NULL DEFAULT 1 COMMENT 'Number of the next delivery, from 1. Each claim adds one.',
    `locked_until` datetime(6) NULL COMMENT 'Lease: the row is held until then. NULL: free.',
    `processed_at` datetime(6) NULL COMMENT 'When the row was finished. NULL: not yet.',
    `payload` json NOT NULL,
    `note` longtext NULL,
    PRIMARY KEY (`job_id`),
    -- claim relies on it.
    KEY `report_jobs_claim` (`queue`, `processed_at`, `locked_until`, `urgency`, `retry_after`, `job_id`),
    -- claim_table and purge rely on it.
    KEY `report_jobs_claim_table` (`processed_at`, `locked_until`, `urgency`, `retry_after`, `job_id`)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4;

-- Dead letters.
CREATE TABLE `report_jobs_dead` (
    `job_id` bigint NOT NULL,
    `queue` varchar(40) CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin NULL,
    `urgency` smallint NULL DEFAULT 0,
    `customer` varchar(80) CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin NULL,
    `retry_after` datetime(6) NULL,
    `attempt` int NULL,
    `locked_until` datetime(6) NULL,
    `processed_at` datetime(6) NULL,
    `payload` json NULL,
    `note` longtext NULL,
    `reason` longtext NULL,
    `error` longtext NULL,
    `died_at` datetime(6) NULL,
    PRIMARY KEY (`job_id`),
    -- redrive_oldest relies on it.
    KEY `report_jobs_dead_oldest` (`died_at`, `job_id`)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4;
