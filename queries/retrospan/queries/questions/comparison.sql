-- title: Two runs, step by step, and where and why they diverge: the questions divergence and diff, asked at once
-- params: a String, b String (run ids)
-- returns: view (run_divergence: one row; run_diff: one row per position and aspect), and the columns of both views
SELECT
    view,
    position,
    step_a,
    step_b,
    change,
    aspect,
    value_a,
    value_b,
    step_kind,
    name,
    detail,
    known,
    cause,
    identical,
    prefix,
    shown_cause
FROM
(
    SELECT
        'run_divergence' AS view,
        toUInt32(0) AS position,
        step_a,
        step_b,
        CAST('', 'LowCardinality(String)') AS change,
        aspect,
        value_a,
        value_b,
        CAST('', 'LowCardinality(String)') AS step_kind,
        '' AS name,
        CAST('', 'LowCardinality(String)') AS detail,
        CAST(0, 'Bool') AS known,
        cause,
        identical,
        prefix,
        shown_cause
    FROM run_divergence(a = {a:String}, b = {b:String})
    UNION ALL
    SELECT
        'run_diff' AS view,
        position,
        step_a,
        step_b,
        change,
        aspect,
        value_a,
        value_b,
        step_kind,
        name,
        detail,
        known,
        CAST('', 'LowCardinality(String)') AS cause,
        CAST(0, 'Bool') AS identical,
        CAST('', 'LowCardinality(String)') AS prefix,
        CAST('', 'LowCardinality(String)') AS shown_cause
    FROM run_diff(a = {a:String}, b = {b:String})
)
ORDER BY
    position,
    aspect
