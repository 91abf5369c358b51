-- title: equal elements of two lists, paired by occurrence as far as that is the order of both
-- params: x Array(UInt64), y Array(UInt64)
-- returns: Array(Tuple(UInt32, UInt32)), pairs of places from 1
CREATE FUNCTION IF NOT EXISTS retrospan_in_turn AS (x, y) -> arrayMap(
    pairs -> arrayFilter(
        (pair, before) -> pair.2 > before,
        pairs,
        arrayPopBack(
            arrayPushFront(arrayReduceInRanges('max', arrayMap(i -> (1, i), arrayEnumerate(pairs)), pairs.2), 0)
        )
    ),
    [
        arraySort(
            arrayFilter(
                pair -> pair.2 != 0,
                arrayMap(
                    entries -> arrayMap(
                        (entry, next) -> (
                            entry.4,
                            if(entry.1 = next.1 AND entry.2 = next.2 AND entry.3 != next.3, next.4, 0)
                        ),
                        entries,
                        arrayShiftLeft(entries, 1)
                    ),
                    [
                        arraySort(
                            arrayConcat(
                                arrayMap((key, n, i) -> (key, n, 0, toUInt32(i)), x, arrayEnumerateUniq(x), arrayEnumerate(x)),
                                arrayMap((key, n, i) -> (key, n, 1, toUInt32(i)), y, arrayEnumerateUniq(y), arrayEnumerate(y))
                            )
                        )
                    ]
                )[1]
            )
        )
    ]
)[1]
