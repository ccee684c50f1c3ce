-- A finding can be seen again, and one that says something else takes its place.

-- What was given up, or has a successor, keeps no key: the same can be recorded again.
ALTER TABLE knowledge_items ALTER COLUMN dedupe_key DROP NOT NULL;
UPDATE knowledge_items SET dedupe_key = NULL WHERE status = 'deprecated';

ALTER TABLE knowledge_items ADD COLUMN last_seen_at bigint;
UPDATE knowledge_items SET last_seen_at = updated_at;
ALTER TABLE knowledge_items ALTER COLUMN last_seen_at SET NOT NULL;
ALTER TABLE knowledge_items ADD COLUMN supersedes text COLLATE "C";
