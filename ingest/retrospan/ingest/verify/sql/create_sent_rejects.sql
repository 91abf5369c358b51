-- title: rejects as the log gives them
-- Why a record is in quarantine is told in the engine's words, which name its connection and its tables.
-- params: none
-- returns: the columns of raw_rejects
CREATE VIEW sent_rejects AS
SELECT * REPLACE(if(startsWith(reason, 'quarantined: '), 'quarantined: ', reason) AS reason)
FROM raw_rejects
