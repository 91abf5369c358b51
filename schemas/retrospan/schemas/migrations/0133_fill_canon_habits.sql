-- title: the habits of runs that were interpreted before there was a table of them
INSERT INTO canon_habits
SELECT
    c.tenant AS tenant,
    c.run_id AS run_id,
    c.generation AS generation,
    arraySort((tool, ordinal) -> ordinal, groupArray(c.tool_name), groupArray(c.ordinal)) AS tools
FROM canon_tool_calls AS c
INNER JOIN (SELECT tenant, run_id, generation FROM canon_runs FINAL WHERE NOT deleted) AS p
    USING (tenant, run_id, generation)
WHERE (c.tenant, c.run_id, c.generation) NOT IN (SELECT tenant, run_id, generation FROM canon_habits)
GROUP BY c.tenant, c.run_id, c.generation
