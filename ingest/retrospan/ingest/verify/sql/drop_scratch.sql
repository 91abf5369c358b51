-- title: drop the database of a verification, one's own or one that a killed process left
-- params: scratch Identifier
-- returns: nothing
DROP DATABASE IF EXISTS {scratch:Identifier} SYNC
