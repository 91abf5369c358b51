-- title: rejects as they are stored, said as in sent_rejects
-- params: none
-- returns: the columns of raw_rejects
CREATE VIEW stored_rejects AS
SELECT * REPLACE(if(startsWith(reason, 'quarantined: '), 'quarantined: ', reason) AS reason)
FROM retrospan.raw_rejects
