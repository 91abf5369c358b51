-- title: let tables without a database be those of the warehouse
-- params: main Identifier
-- returns: nothing
USE {main:Identifier}
