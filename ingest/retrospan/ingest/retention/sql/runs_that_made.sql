-- title: runs that made some things, as stated or matched by id; to know the version of a document is not to make it
-- params: tenant String, things Array(String) (references)
-- returns: run_id
SELECT DISTINCT run_id
FROM canon_edges
WHERE tenant = {tenant:String} AND subject IN {things:Array(String)} AND evidence IN ('stated', 'matched')
    AND NOT (evidence = 'matched' AND ifNull(role, '') = 'version of')
ORDER BY run_id
