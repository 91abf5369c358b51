-- title: write the parts of a table anew without their deleted rows
-- params: table Identifier
-- returns: nothing
ALTER TABLE {table:Identifier} APPLY DELETED MASK
