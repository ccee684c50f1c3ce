-- Audit rows and events of one write that differ in the record alone are kept as one: `records` are the ids, packed.
-- An audit row has them sorted, the row of events in the order in which they are told, with the id of the last one.
ALTER TABLE audit ADD COLUMN records bytea;
ALTER TABLE outbox ADD COLUMN records bytea;
ALTER TABLE events ADD COLUMN records bytea;

-- Nobody reads the audit of all tenants by moment.
DROP INDEX audit_at;
-- The first and the last of its records tell whether one can be in a group.
CREATE INDEX audit_groups ON audit (tenant, substring(records FROM octet_length(records) - 15), substring(records FROM 1 FOR 16))
    WHERE records IS NOT NULL;
