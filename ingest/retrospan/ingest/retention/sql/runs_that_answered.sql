-- title: the runs that made the messages of some runs, where these did not: each the latest in an earlier run of the conversation
-- params: tenant String, run_ids Array(String)
-- returns: run_id
SELECT DISTINCT made_by AS run_id
FROM
(
    SELECT argMax(e.run_id, (e.at, e.object)) AS made_by
    FROM
    (
        SELECT DISTINCT
            v.run_id AS run_id,
            concat('message:', v.hash) AS message,
            r.conversation_id AS conversation_id,
            r.started_at AS started_at
        FROM canon_values AS v
        INNER JOIN (
            SELECT run_id, generation, conversation_id, started_at
            FROM canon_runs FINAL
            WHERE NOT deleted
                AND tenant = {tenant:String}
                AND run_id IN {run_ids:Array(String)}
                AND isNotNull(conversation_id)
        ) AS r ON r.run_id = v.run_id AND r.generation = v.generation
        WHERE v.tenant = {tenant:String} AND v.run_id IN {run_ids:Array(String)} AND v.kind = 'message'
    ) AS m
    INNER JOIN (
        SELECT
            s.run_id AS run_id,
            s.subject AS subject,
            s.object AS object,
            s.at AS at,
            r.conversation_id AS conversation_id,
            r.started_at AS started_at
        FROM canon_edges AS s
        INNER JOIN (
            SELECT run_id, generation, conversation_id, started_at
            FROM canon_runs FINAL
            WHERE NOT deleted AND tenant = {tenant:String} AND isNotNull(conversation_id)
        ) AS r ON r.run_id = s.run_id AND r.generation = s.generation
        WHERE s.tenant = {tenant:String}
            AND s.run_id IN (
                SELECT run_id
                FROM canon_runs FINAL
                WHERE NOT deleted
                    AND tenant = {tenant:String}
                    AND conversation_id IN (
                        SELECT conversation_id
                        FROM canon_runs FINAL
                        WHERE NOT deleted AND tenant = {tenant:String} AND run_id IN {run_ids:Array(String)}
                    )
            )
            AND s.relation = 'wasGeneratedBy'
            AND startsWith(s.subject, 'message:')
    ) AS e ON e.subject = m.message AND e.conversation_id = m.conversation_id
    WHERE e.started_at < m.started_at OR e.run_id = m.run_id
    GROUP BY m.run_id, m.message
    HAVING countIf(e.run_id = m.run_id) = 0
)
ORDER BY run_id
