-- title: the longest common subsequence of two lists, by bits of one number (Hyyrö, "Bit-parallel LCS-length computation revisited", 2004)
-- params: x Array(UInt64), y Array(UInt64) of at most 256 elements
-- returns: Array(Tuple(UInt32, UInt32)), pairs of places from 1; of equally many pairs the earliest, in x first
-- note: rows[i] has a bit for each element of y, the last one lowest: clear bits among the lowest n count what the rest
-- of x from i has in common with the last n of y. `found` is how much of y is left, how many pairs are, and the pairs.
CREATE FUNCTION IF NOT EXISTS retrospan_longest_in_common AS (x, y) -> arrayMap(
    (rows, size) -> arrayFold(
        (found, i, key, next) -> arrayMap(
            rest -> if(
                rest >= 0
                AND 1 + rest - bitCount(bitAnd(next, bitShiftLeft(toUInt256(1), greatest(rest, 0)) - toUInt256(1))) = found.2,
                (rest, found.2 - 1, arrayPushBack(found.3, (toUInt32(i), toUInt32(size - rest)))),
                found
            ),
            [
                if(
                    found.2 > 0 AND has(arraySlice(y, size - found.1 + 1), key),
                    found.1 - toInt64(indexOf(arraySlice(y, size - found.1 + 1), key)),
                    -1
                )
            ]
        )[1],
        arrayEnumerate(x),
        x,
        arrayPopFront(rows),
        (
            size,
            size - toInt64(bitCount(bitAnd(rows[1], bitShiftLeft(toUInt256(1), size) - toUInt256(1)))),
            CAST([], 'Array(Tuple(UInt32, UInt32))')
        )
    ).3,
    [
        arrayReverse(
            arrayFold(
                (rows, mask) -> arrayPushBack(
                    rows,
                    bitOr(rows[-1] + bitAnd(rows[-1], mask), bitAnd(rows[-1], bitNot(mask)))
                ),
                arrayReverse(
                    arrayMap(
                        key -> reinterpretAsUInt256(
                            reverse(unbin(arrayStringConcat(arrayMap(other -> if(other = key, '1', '0'), y))))
                        ),
                        x
                    )
                ),
                [bitNot(toUInt256(0))]
            )
        )
    ],
    [toInt64(length(y))]
)[1]
