-- name: tables
-- Which tables the schema has, ours or not.
SELECT c.relname::text FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = %(schema)s AND c.relkind IN ('r', 'p', 'v', 'm', 'f');

-- name: make_schema
-- A place of our own, away from other people's tables.
CREATE SCHEMA IF NOT EXISTS {schema};

-- name: make_schema_version
-- Which migrations ran, and whose tables these are.
CREATE TABLE IF NOT EXISTS schema_version (
    version integer PRIMARY KEY,
    application text NOT NULL DEFAULT 'commonplace'
);

-- name: version
-- How far this schema has come. Fails where the table is not ours.
SELECT coalesce(max(version), 0), coalesce(bool_and(application = 'commonplace'), true) FROM schema_version;

-- name: set_version
-- One row a migration.
INSERT INTO schema_version (version) VALUES (%(version)s);

-- name: one_migrator
-- Held to the end of the transaction, so that of several daemons that start together one migrates.
SELECT pg_advisory_xact_lock(hashtextextended('commonplace migrations ' || %(schema)s, 0));

-- name: extension
-- Where pgvector is installed in this database.
SELECT n.nspname::text, e.extversion FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace
WHERE e.extname = 'vector';

-- name: make_extension
-- Beside our schema, not in it: others may use it too.
CREATE EXTENSION IF NOT EXISTS vector SCHEMA public;

-- name: forget_versions
-- Before the tables of an older schema are made.
DELETE FROM schema_version;
