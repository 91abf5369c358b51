-- title: empty a table of a verification
-- params: table Identifier
-- returns: nothing
TRUNCATE TABLE {table:Identifier} SYNC
