-- title: The runs that a walk reached, by agent and service with their versions
-- params: run_ids Array(String), service String ('' = any), agent String ('' = any), since DateTime64(9, 'UTC')
-- returns: service_name, service_version, agent_name, agent_version, runs, failed, first_at, last_at, run_ids
SELECT
    service_name,
    service_version,
    agent_name,
    agent_version,
    count() AS runs,
    countIf(outcome != 'ok' AND outcome != 'running') AS failed,
    min(started_at) AS first_at,
    max(started_at) AS last_at,
    groupArray(run_id) AS run_ids
FROM runs
WHERE run_id IN {run_ids:Array(String)}
    AND ({service:String} = '' OR service_name = {service:String})
    AND ({agent:String} = '' OR agent_name = {agent:String})
    AND started_at >= {since:DateTime64(9, 'UTC')}
GROUP BY
    service_name,
    service_version,
    agent_name,
    agent_version
ORDER BY
    runs DESC,
    service_name,
    service_version,
    agent_name,
    agent_version
