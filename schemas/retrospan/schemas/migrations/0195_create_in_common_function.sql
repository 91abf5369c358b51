-- title: what two lists have in common, in the order of both
-- params: x Array(UInt64), y Array(UInt64)
-- returns: Array(Tuple(UInt32, UInt32)), pairs of places from 1: as many as possible while at most 4,096 elements of x and 256 of y are left behind the common head; else these by occurrence
CREATE FUNCTION IF NOT EXISTS retrospan_in_common AS (x, y) -> arrayMap(
    head -> arrayMap(
        (few_x, few_y, many_x, many_y) -> arrayConcat(
            arrayMap(i -> (toUInt32(i), toUInt32(i)), range(1, head + 1)),
            arrayMap(
                pair -> (toUInt32(pair.1 + head), toUInt32(pair.2 + head)),
                arrayConcat(retrospan_longest_in_common(few_x, few_y), retrospan_in_turn(many_x, many_y))
            )
        ),
        [if(length(x) - head <= 4096 AND length(y) - head <= 256, arraySlice(x, head + 1), [])],
        [if(length(x) - head <= 4096 AND length(y) - head <= 256, arraySlice(y, head + 1), [])],
        [if(length(x) - head <= 4096 AND length(y) - head <= 256, [], arraySlice(x, head + 1))],
        [if(length(x) - head <= 4096 AND length(y) - head <= 256, [], arraySlice(y, head + 1))]
    )[1],
    [
        toUInt64(
            arrayFirstIndex(
                (a, b) -> a != b,
                arrayPushBack(arraySlice(x, 1, least(length(x), length(y))), 0),
                arrayPushBack(arraySlice(y, 1, least(length(x), length(y))), 1)
            )
        ) - 1
    ]
)[1]
