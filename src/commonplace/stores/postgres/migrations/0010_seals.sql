-- The audit is sealed: each seal holds a hash of the rows since the one before, together with that one's hash. `last` is the number of
-- the last row that it covers, `latest` the latest moment of them. Of a `trimmed` one the rows are gone, and it stays. Seals are of the
-- whole store, since the numbers of the rows are.
CREATE TABLE seals (
    number bigint PRIMARY KEY,
    at bigint NOT NULL,
    last bigint NOT NULL,
    count bigint NOT NULL,
    latest bigint NOT NULL,
    hash bytea NOT NULL,
    trimmed boolean NOT NULL DEFAULT false
);
CREATE FUNCTION refuse_seal_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'seals are never changed' USING ERRCODE = 'restrict_violation';
END
$$;
CREATE TRIGGER seals_are_kept BEFORE DELETE OR TRUNCATE OR UPDATE OF number, at, last, count, latest, hash ON seals
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_seal_change();
CREATE INDEX audit_number ON audit (number);

-- Rows of the audit go only after their seal was marked.
CREATE FUNCTION refuse_unsealed_deletion() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (
        SELECT 1 FROM gone WHERE gone.number > coalesce((SELECT max(last) FROM seals WHERE trimmed), -9223372036854775808)
    ) THEN
        RAISE EXCEPTION 'rows of the audit are never changed' USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NULL;
END
$$;
DROP TRIGGER audit_is_kept ON audit;
CREATE TRIGGER audit_is_kept BEFORE UPDATE OR TRUNCATE ON audit FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER audit_is_not_deleted AFTER DELETE ON audit REFERENCING OLD TABLE AS gone
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_unsealed_deletion();

-- Moments that later releases count from. Sessions that are there now end as if they were last written to now.
CREATE TABLE milestones (
    name text COLLATE "C" PRIMARY KEY,
    at bigint NOT NULL
);
INSERT INTO milestones (name, at)
SELECT 'sessions_end', (extract(epoch FROM now()) * 1000)::bigint WHERE EXISTS (SELECT 1 FROM scopes WHERE kind = 'session');
