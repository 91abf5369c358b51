-- title: remove a part that the engine put aside
-- params: table Identifier, part String
-- returns: nothing
ALTER TABLE {table:Identifier} DROP DETACHED PART {part:String}
