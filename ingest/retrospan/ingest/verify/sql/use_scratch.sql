-- title: let tables without a database be those of the verification
-- params: scratch Identifier
-- returns: nothing
USE {scratch:Identifier}
