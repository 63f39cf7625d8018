-- From tables.toml: edit that and run `sqlclaimgen build`.
-- format 1 · form lease · mariadb

CREATE TABLE `hooks`.`calls` (
    `id` bigint NOT NULL AUTO_INCREMENT,
    `target` varchar(80) CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin NOT NULL COMMENT 'The queue within the table.',
    `origin` varchar(80) CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin NULL COMMENT 'The group a dead letter came from.',
    `due` datetime(6) NOT NULL DEFAULT (UTC_TIMESTAMP(6)) COMMENT 'The row is not due before.',
    `attempt` int NOT NULL DEFAULT 1 COMMENT 'Number of the next delivery, from 1. Each claim adds one.',
    `held_until` datetime(6) NULL COMMENT 'Lease: the row is held until then. NULL: free.',
    `error` longtext NULL COMMENT 'What went wrong the last time.',
    `headers` json NULL,
    `body` json NOT NULL,
    PRIMARY KEY (`id`),
    -- claim relies on it.
    KEY `calls_claim` (`target`, `held_until`, `due`, `id`)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4;
