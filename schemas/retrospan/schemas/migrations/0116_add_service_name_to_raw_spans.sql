-- title: the resource attribute service.name, so that counting spans by service does not read all resource attributes
ALTER TABLE raw_spans
    ADD COLUMN IF NOT EXISTS service_name LowCardinality(String) MATERIALIZED arrayLast(a -> tupleElement(a, 'key') = 'service.name', resource_attributes).value
