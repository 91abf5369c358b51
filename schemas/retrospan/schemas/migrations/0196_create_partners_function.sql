-- title: index by index the partner of 1 to n, 0 where there is none
-- params: pairs Array(Tuple(UInt32, UInt32)), n UInt64
-- returns: Array(UInt32)
CREATE FUNCTION IF NOT EXISTS retrospan_partners AS (pairs, n) -> arrayMap(
    entries -> arrayMap(
        entry -> entry.2,
        arrayFilter(
            (entry, before) -> entry.1 != before,
            entries,
            arrayPopBack(arrayPushFront(arrayMap(entry -> entry.1, entries), 0))
        )
    ),
    [
        arraySort(
            entry -> (entry.1, entry.2 = 0),
            arrayConcat(
                CAST(pairs, 'Array(Tuple(UInt32, UInt32))'),
                CAST(arrayMap(i -> (i, 0), range(1, n + 1)), 'Array(Tuple(UInt32, UInt32))')
            )
        )
    ]
)[1]
