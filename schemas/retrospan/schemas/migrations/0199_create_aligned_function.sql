-- title: which steps of two runs stand beside each other: by content, then moved ones, then by name, then tools by place
-- params: a, b Array(Tuple(content UInt64, known Bool, name UInt64, is_tool Bool))
-- returns: Tuple(settled Array(Tuple(UInt32, UInt32)), moved Array(Tuple(UInt32, UInt32))), pairs of places from 1
CREATE FUNCTION IF NOT EXISTS retrospan_aligned AS (a, b) -> arrayMap(
    (contents_a, contents_b, known_a, known_b, names_a, names_b) -> arrayMap(
        equal -> arrayMap(
            moves -> arrayMap(
                (stays_a, stays_b) -> arrayMap(
                    named -> (
                        -- Tools beside tools, whatever their names.
                        retrospan_beside(
                            named,
                            arrayMap(step -> toUInt64(0), a),
                            arrayMap((stays, step) -> stays AND step.4, stays_a, a),
                            arrayMap(step -> toUInt64(0), b),
                            arrayMap((stays, step) -> stays AND step.4, stays_b, b)
                        ),
                        moves
                    ),
                    [retrospan_beside(equal, names_a, stays_a, names_b, stays_b)]
                )[1],
                [arrayMap(partner -> partner = 0, retrospan_partners(moves, length(a)))],
                [arrayMap(partner -> partner = 0, retrospan_partners(arrayMap(pair -> (pair.2, pair.1), moves), length(b)))]
            )[1],
            [
                retrospan_moves(
                    contents_a,
                    arrayMap((known, partner) -> known AND partner = 0, known_a, retrospan_partners(equal, length(a))),
                    contents_b,
                    arrayMap(
                        (known, partner) -> known AND partner = 0,
                        known_b,
                        retrospan_partners(arrayMap(pair -> (pair.2, pair.1), equal), length(b))
                    )
                )
            ]
        )[1],
        [retrospan_in_common(contents_a, contents_b)]
    )[1],
    [arrayMap(step -> step.1, a)],
    [arrayMap(step -> step.1, b)],
    [arrayMap(step -> step.2, a)],
    [arrayMap(step -> step.2, b)],
    [arrayMap(step -> step.3, a)],
    [arrayMap(step -> step.3, b)]
)[1]
