-- title: The runs of the same agent and service around a run, and how like its input theirs is
-- params: run_id String, agent String ('' = any), service String ('' = any), input String (its beginning), input_hash String, started_at DateTime64(9, 'UTC'), before UInt32, after UInt32
-- returns: one row per run, the nearest in time first, and the distance of its input
-- A distance is 0 for an equal input, 1 where nothing is in common, NULL if one is not known; the first 2,000 characters
-- are compared.
SELECT
    run_id,
    started_at,
    outcome,
    errors,
    parent_link,
    agent_version,
    service_version,
    is_before,
    if(
        lower(hex(sipHash128(input))) = {input_hash:String},
        0,
        greatest(ngramDistanceUTF8(substringUTF8(input, 1, 2000), {input:String}), 0.001)
    ) AS distance
FROM
(
    SELECT
        run_id,
        started_at,
        outcome,
        errors,
        parent_link,
        agent_version,
        service_version,
        input,
        started_at <= {started_at:DateTime64(9, 'UTC')} AS is_before
    FROM runs
    WHERE ({agent:String} = '' OR agent_name = {agent:String})
        AND ({service:String} = '' OR service_name = {service:String})
        AND run_id != {run_id:String}
    ORDER BY
        is_before,
        abs(toUnixTimestamp64Nano(started_at) - toUnixTimestamp64Nano({started_at:DateTime64(9, 'UTC')}))
    LIMIT greatest({before:UInt32}, {after:UInt32}) BY is_before
)
ORDER BY
    is_before DESC,
    if(is_before, -toUnixTimestamp64Nano(started_at), toUnixTimestamp64Nano(started_at))
