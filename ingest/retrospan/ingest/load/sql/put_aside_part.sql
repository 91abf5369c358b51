-- title: put a part aside, where its table does not read it
-- params: table Identifier, part String
-- returns: nothing
ALTER TABLE {table:Identifier} DETACH PART {part:String}
