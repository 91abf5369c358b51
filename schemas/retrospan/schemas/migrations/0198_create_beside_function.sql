-- title: pairs of steps, and with them those that have the same name between the same two pairs
-- params: pairs Array(Tuple(UInt32, UInt32)); names_a Array(UInt64); free_a Array(Bool), whether a step may be paired; names_b Array(UInt64); free_b Array(Bool)
-- returns: Array(Tuple(UInt32, UInt32)), pairs of places from 1, in order
CREATE FUNCTION IF NOT EXISTS retrospan_beside AS (pairs, names_a, free_a, names_b, free_b) -> arrayMap(
    (partners_a, partners_b) -> arrayMap(
        (keys_a, keys_b, places_a, places_b) -> arrayMap(
            alike -> arraySort(
                arrayConcat(
                    pairs,
                    arrayMap(
                        (i, j) -> (toUInt32(i), toUInt32(j)),
                        arrayFilter(
                            (i, partner) -> partner != 0,
                            places_a,
                            retrospan_partners(alike, length(places_a))
                        ),
                        arrayFilter(
                            (i, partner) -> partner != 0,
                            places_b,
                            retrospan_partners(arrayMap(pair -> (pair.2, pair.1), alike), length(places_b))
                        )
                    )
                )
            ),
            [
                retrospan_longest_in_common(
                    arraySlice(keys_a, 1, 4096),
                    arraySlice(keys_b, 1, 256)
                )
            ]
        )[1],
        [
            arrayFilter(
                (key, partner, free) -> partner = 0 AND free,
                arrayMap((gap, name) -> cityHash64(gap, name), arrayCumSum(arrayMap(p -> p != 0, partners_a)), names_a),
                partners_a,
                free_a
            )
        ],
        [
            arrayFilter(
                (key, partner, free) -> partner = 0 AND free,
                arrayMap((gap, name) -> cityHash64(gap, name), arrayCumSum(arrayMap(p -> p != 0, partners_b)), names_b),
                partners_b,
                free_b
            )
        ],
        [arrayFilter((i, partner, free) -> partner = 0 AND free, arrayEnumerate(partners_a), partners_a, free_a)],
        [arrayFilter((i, partner, free) -> partner = 0 AND free, arrayEnumerate(partners_b), partners_b, free_b)]
    )[1],
    [retrospan_partners(pairs, length(names_a))],
    [retrospan_partners(arrayMap(pair -> (pair.2, pair.1), pairs), length(names_b))]
)[1]
