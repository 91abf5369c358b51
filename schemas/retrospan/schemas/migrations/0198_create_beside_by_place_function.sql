-- title: pairs of steps, and with them those that stand between the same two pairs, the first beside the first
-- params: pairs Array(Tuple(UInt32, UInt32)); free_a, free_b Array(Bool), whether a step may be paired
-- returns: Array(Tuple(UInt32, UInt32)), pairs of places from 1, in order
CREATE FUNCTION IF NOT EXISTS retrospan_beside_by_place AS (pairs, free_a, free_b) -> arrayMap(
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
            [retrospan_in_turn(keys_a, keys_b)]
        )[1],
        [
            arrayFilter(
                (key, partner, free) -> partner = 0 AND free,
                CAST(arrayCumSum(arrayMap(p -> p != 0, partners_a)), 'Array(UInt64)'),
                partners_a,
                free_a
            )
        ],
        [
            arrayFilter(
                (key, partner, free) -> partner = 0 AND free,
                CAST(arrayCumSum(arrayMap(p -> p != 0, partners_b)), 'Array(UInt64)'),
                partners_b,
                free_b
            )
        ],
        [arrayFilter((i, partner, free) -> partner = 0 AND free, arrayEnumerate(partners_a), partners_a, free_a)],
        [arrayFilter((i, partner, free) -> partner = 0 AND free, arrayEnumerate(partners_b), partners_b, free_b)]
    )[1],
    [retrospan_partners(pairs, length(free_a))],
    [retrospan_partners(arrayMap(pair -> (pair.2, pair.1), pairs), length(free_b))]
)[1]
