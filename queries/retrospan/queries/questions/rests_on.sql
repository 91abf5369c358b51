-- title: What is said of a run until a moment: how many observations, and when the last was made
-- params: run_id String, until DateTime64(9, 'UTC')
-- returns: one row: observations (each once, however many fields it has), last_said_at (NULL if there is none)
SELECT
    uniqExact(observation_id) AS observations,
    maxOrNull(said_at) AS last_said_at
FROM observations
WHERE run_id = {run_id:String}
    AND said_at <= {until:DateTime64(9, 'UTC')}
