-- title: traces of the runs that fit all conditions, in the order in which their raw rows lie
-- params: run String, version String, dialect String ('' for any), since Int64, until Int64 (Unix ns, 0 for open)
-- returns: tenant, trace_id, records, newest Array(UInt64) (the newest sequence of each log), home
SELECT
    a.tenant,
    a.trace_id,
    sum(a.records) AS records,
    groupArray(a.last) AS newest,
    '' AS home
FROM
(
    SELECT
        tenant,
        trace_id,
        count() AS records,
        max(sequence) AS last
    FROM arrivals
    GROUP BY
        tenant,
        trace_id,
        bitShiftRight(sequence, 40)
) AS a
INNER JOIN
(
    SELECT DISTINCT
        tenant,
        arrayJoin(trace_ids) AS trace_id
    FROM canon_runs
    FINAL
    WHERE NOT deleted
        AND ({run:String} = '' OR run_id = {run:String})
        AND ({version:String} = '' OR interpreted_by = {version:String})
        AND ({dialect:String} = '' OR has(dialects, {dialect:String}))
        AND ({since:Int64} = 0 OR started_at >= fromUnixTimestamp64Nano({since:Int64}, 'UTC'))
        AND ({until:Int64} = 0 OR started_at < fromUnixTimestamp64Nano({until:Int64}, 'UTC'))
) AS r ON r.tenant = a.tenant AND r.trace_id = a.trace_id
GROUP BY
    a.tenant,
    a.trace_id
ORDER BY
    a.tenant,
    a.trace_id
