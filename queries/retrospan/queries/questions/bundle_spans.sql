-- title: What the spans of a run's model calls say beside the request and the answer
-- params: run_id String, trace_ids Array(String) (its traces: spans are kept by these)
-- returns: one row per span: ids of the answer, whether it was streamed, and the HTTP status, each '' if it is not said;
-- and whether the response tells of further requests that its client made by itself, or could
SELECT
    span_id,
    attributes['gen_ai.operation.name'] AS operation_name,
    attributes['gen_ai.response.id'] AS response_id,
    attributes['gen_ai.request.stream'] AS request_stream,
    attributes['gen_ai.is_streaming'] AS is_streaming,
    attributes['llm.is_streaming'] AS llm_is_streaming,
    attributes['http.response.status_code'] AS status_code,
    attributes['http.status_code'] AS older_status_code,
    arrayExists(value -> position(value, 'automatic_function_calling_history') > 0, mapValues(attributes)) AS tells_rounds
FROM spans
WHERE trace_id IN {trace_ids:Array(String)}
    AND run_id = {run_id:String}
    AND operation = 'inference'
ORDER BY span_id
