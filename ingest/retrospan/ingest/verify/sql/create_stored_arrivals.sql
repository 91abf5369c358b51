-- title: arrivals that come from the log; others are notices of one interpreter to another
-- params: none
-- returns: the columns of arrivals
CREATE VIEW stored_arrivals AS
SELECT *
FROM retrospan.arrivals
WHERE home = ''
