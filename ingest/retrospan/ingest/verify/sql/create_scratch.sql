-- title: the database of a verification
-- params: scratch Identifier
-- returns: nothing
CREATE DATABASE {scratch:Identifier}
