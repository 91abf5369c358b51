-- title: whether the files of each part of a table are what was written
-- params: database Identifier, table Identifier
-- returns: part, is_whole UInt8, message
CHECK TABLE {database:Identifier}.{table:Identifier}
