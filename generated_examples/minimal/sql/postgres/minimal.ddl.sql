-- From tables.toml: edit that and run `sqlclaimgen build`.
-- format 1 · form row lock · postgres

CREATE TABLE "minimal" (
    "id" bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    "payload" jsonb NOT NULL
);
