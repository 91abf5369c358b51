-- title: an empty table in memory with the columns of one of the warehouse
-- params: table Identifier
-- returns: nothing
CREATE TABLE {table:Identifier}
ENGINE = Memory
EMPTY AS SELECT * FROM retrospan.{table:Identifier}
