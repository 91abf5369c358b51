-- title: the last record of each log that has touched a trace
-- params: none
-- returns: newest (sequence)
SELECT max(sequence) AS newest
FROM arrivals
GROUP BY bitShiftRight(sequence, 40)
