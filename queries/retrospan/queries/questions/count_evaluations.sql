-- title: How many evaluations may be on record: former readings are counted too, so that only 0 is exact
-- params: none
-- returns: evaluations
SELECT count() AS evaluations
FROM canon_evaluations
