-- title: merge all parts of a partition into one
-- params: table Identifier, partition_id String
OPTIMIZE TABLE {table:Identifier} PARTITION ID {partition_id:String}
