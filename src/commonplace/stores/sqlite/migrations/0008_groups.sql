-- Audit rows and events of one write that differ in the record alone are kept as one: `records` are the ids, packed.
-- An audit row has them sorted, the row of events in the order in which they are told, with the id of the last one.
ALTER TABLE audit ADD COLUMN records BLOB;
ALTER TABLE events ADD COLUMN records BLOB;

-- Nobody reads the audit of all tenants by moment; and a record is one tenant's.
DROP INDEX audit_at;
DROP INDEX audit_record;
CREATE INDEX audit_record ON audit (record, at) WHERE record IS NOT NULL;
-- The first and the last of its records tell whether one can be in a group.
CREATE INDEX audit_groups ON audit (tenant, substr(records, -16), substr(records, 1, 16)) WHERE records IS NOT NULL;
