-- From tables.toml: edit that and run `sqlclaimgen build`.
-- format 1 · form row lock · mysql

CREATE TABLE `minimal` (
    `id` bigint NOT NULL AUTO_INCREMENT,
    `payload` json NOT NULL,
    PRIMARY KEY (`id`)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4;
