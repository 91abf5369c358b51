-- title: make a log known to every interpreter
-- params: number UInt32, name String
-- returns: nothing
INSERT INTO log_identities (number, name)
SELECT {number:UInt32}, {name:String}
