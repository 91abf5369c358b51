-- title: merge parts of a partition, whatever the engine's own plan; as many at once as the table's setting allows
-- params: table Identifier, partition_id String
OPTIMIZE TABLE {table:Identifier} PARTITION ID {partition_id:String}
