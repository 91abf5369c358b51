-- title: write masks of deleted rows into the parts of a table
-- params: table Identifier
-- returns: nothing
ALTER TABLE {table:Identifier} APPLY PATCHES
