-- title: how the engine reads a view of each database, without the database's name; '' where it is not there
-- params: name String, main String, scratch String
-- returns: installed, made
SELECT
    anyIf(replaceOne(create_table_query, concat(' ', database, '.'), ' '), database = {main:String}) AS installed,
    anyIf(replaceOne(create_table_query, concat(' ', database, '.'), ' '), database = {scratch:String}) AS made
FROM system.tables
WHERE database IN ({main:String}, {scratch:String}) AND name = {name:String}
