-- From tables.toml: edit that and run `sqlclaimgen build`.
-- format 1 · form lease · mariadb

CREATE TABLE `Job Queue` (
    `Job No` varchar(40) CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin NOT NULL,
    `class` varchar(40) NOT NULL,
    `Due` datetime(6) NOT NULL DEFAULT (UTC_TIMESTAMP(6)) COMMENT 'The row is not due before.',
    `Locked` datetime(6) NULL COMMENT 'Lease: the row is held until then. NULL: free.',
    `tries` int NOT NULL DEFAULT 1 COMMENT 'Number of the next delivery, from 1. Each claim adds one.',
    `State` smallint NOT NULL DEFAULT 0 COMMENT 'Whether the row waits, is finished, or was given up.',
    `Done At` datetime(6) NULL COMMENT 'When the row was finished. NULL: not yet.',
    `last error` varchar(500) NULL COMMENT 'What went wrong the last time.',
    `reply-to` varchar(200) NULL,
    PRIMARY KEY (`Job No`),
    -- claim relies on it.
    KEY `Job Queue_claim` (`State`, `Locked`, `Due`, `Job No`),
    -- purge and redrive_oldest rely on it.
    KEY `Job Queue_purge` (`State`, `Done At`)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4;
