-- title: what the table of the logs holds, under the name that is left to it now that `logs` is a view
-- Whatever is there under the old name: the table, nothing once it is dropped, or the view.
INSERT INTO log_identities (number, name, seen_at)
SELECT number, name, seen_at
FROM merge(currentDatabase(), '^(logs|log_identities)$')
WHERE _table = 'logs' AND name != ''
