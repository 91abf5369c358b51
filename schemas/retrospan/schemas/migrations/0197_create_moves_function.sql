-- title: steps that are left and have their equal elsewhere, by occurrence
-- params: contents_a Array(UInt64), left_a Array(Bool), contents_b Array(UInt64), left_b Array(Bool)
-- returns: Array(Tuple(UInt32, UInt32)), pairs of places from 1
CREATE FUNCTION IF NOT EXISTS retrospan_moves AS (contents_a, left_a, contents_b, left_b) -> arrayMap(
    (keys_a, keys_b, places_a, places_b) -> arrayMap(
        entries -> arrayFilter(
            pair -> pair.2 != 0,
            arrayMap(
                (entry, next) -> (
                    entry.4,
                    if(entry.1 = next.1 AND entry.2 = next.2 AND entry.3 != next.3, next.4, 0)
                ),
                entries,
                arrayShiftLeft(entries, 1)
            )
        ),
        [
            arraySort(
                arrayConcat(
                    arrayMap((key, n, i) -> (key, n, 0, toUInt32(i)), keys_a, arrayEnumerateUniq(keys_a), places_a),
                    arrayMap((key, n, i) -> (key, n, 1, toUInt32(i)), keys_b, arrayEnumerateUniq(keys_b), places_b)
                )
            )
        ]
    )[1],
    [arrayFilter((key, is_left) -> is_left, contents_a, left_a)],
    [arrayFilter((key, is_left) -> is_left, contents_b, left_b)],
    [arrayFilter((i, is_left) -> is_left, arrayEnumerate(contents_a), left_a)],
    [arrayFilter((i, is_left) -> is_left, arrayEnumerate(contents_b), left_b)]
)[1]
