-- name: bare_contents
SELECT count(*) FROM contents c
WHERE NOT EXISTS (SELECT 1 FROM passages p WHERE p.number BETWEEN c.number * 4096 AND c.number * 4096 + 4095);

-- name: bare_records
SELECT count(*) FROM records v WHERE NOT EXISTS (SELECT 1 FROM contents c WHERE c.number = v.content);

-- name: missing_words
SELECT count(*) FROM records v JOIN passages p ON p.number BETWEEN v.content * 4096 AND v.content * 4096 + 4095
WHERE v.deleted_at IS NULL AND v.superseded_by IS NULL AND v.demoted = 0
    AND NOT EXISTS (SELECT 1 FROM words_docsize w WHERE w.id = p.number);

-- name: stray_words
SELECT count(*) FROM words_docsize w WHERE NOT EXISTS (
    SELECT 1 FROM contents c JOIN records v ON v.number = c.record AND v.content = c.number
    WHERE c.number = w.id / 4096 AND v.deleted_at IS NULL AND v.superseded_by IS NULL AND v.demoted = 0
);

-- name: missing_vectors
SELECT count(*) FROM embedders e, records v
JOIN passages p ON p.number BETWEEN v.content * 4096 AND v.content * 4096 + 4095
WHERE e.name NOT IN (SELECT name FROM embedder_stages) AND v.deleted_at IS NULL AND v.superseded_by IS NULL AND v.demoted = 0 AND NOT EXISTS (
    SELECT 1 FROM vectors x WHERE x.embedder = e.number AND x.scope = v.scope AND x.passage = p.number
);

-- name: stray_vectors
SELECT count(*) FROM vectors x WHERE NOT EXISTS (SELECT 1 FROM passages p WHERE p.number = x.passage);

-- name: missing_versions
SELECT count(*) FROM records v WHERE (SELECT count(*) FROM versions o WHERE o.number = v.number) <> v.version - 1;

-- name: wrong_counters
SELECT count(*) FROM scopes s LEFT JOIN (
    SELECT v.scope, count(*) AS passages, sum(p.length) AS terms
    FROM records v JOIN passages p ON p.number BETWEEN v.content * 4096 AND v.content * 4096 + 4095
    WHERE v.deleted_at IS NULL AND v.superseded_by IS NULL AND v.demoted = 0 GROUP BY v.scope
) t ON t.scope = s.number
WHERE s.passages <> ifnull(t.passages, 0) OR s.terms <> ifnull(t.terms, 0);

-- name: wrong_sessions
-- Whose positions have gaps, or which count other messages than they have.
SELECT count(*) FROM sessions s LEFT JOIN (
    SELECT session, count(*) AS messages, max(position) AS last, sum(hidden = 0) AS visible FROM messages GROUP BY session
) m ON m.session = s.number
WHERE s.last <> ifnull(m.last, 0) OR s.last <> ifnull(m.messages, 0) OR s.messages <> ifnull(m.visible, 0);

-- name: wrong_message_words
SELECT count(*) FROM messages m
WHERE (m.words IS NOT NULL) <> EXISTS (SELECT 1 FROM message_words_docsize d WHERE d.id = m.number);
