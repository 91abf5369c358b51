-- title: Messages whose hash starts with a prefix
-- params: prefix String
-- returns: up to 5 rows: message_hash
SELECT DISTINCT message_hash
FROM messages
WHERE startsWith(message_hash, {prefix:String})
ORDER BY message_hash
LIMIT 5
