-- title: rows of a log that come from no record that the log ever loaded
-- params: database Identifier, table Identifier, log UInt32, durable UInt64 (sequence)
-- returns: sequence
SELECT DISTINCT sequence
FROM {database:Identifier}.{table:Identifier}
WHERE bitShiftRight(sequence, 40) = {log:UInt32}
    AND (sequence > {durable:UInt64} OR bitAnd(sequence, 1099511627775) = 0)
ORDER BY sequence
LIMIT 100
