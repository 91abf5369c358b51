-- title: drop a partition of a table
-- params: table Identifier, partition String (its id)
-- returns: nothing
ALTER TABLE {table:Identifier} DROP PARTITION ID {partition:String}
