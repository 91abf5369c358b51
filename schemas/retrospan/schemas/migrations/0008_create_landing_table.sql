-- title: where log records enter: keeps nothing, feeds the raw tables through materialized views
-- The columns mirror otlp_log.proto, name for name; `kind` says which member of the oneof was sent.
-- `log` is not sent: who inserts names the log in the comment of the insert, and none is log 0.
CREATE TABLE IF NOT EXISTS landing
(
    arrived_at UInt64,
    sequence UInt64,
    tenant String,
    traces Tuple(
        resource_spans Array(Tuple(
            resource Tuple(
                attributes Array(Tuple(
                    key String,
                    value Tuple(
                        kind Enum8('unset' = 0, 'text' = 1, 'flag' = 2, 'number' = 3, 'real' = 4, 'array' = 5, 'kvlist' = 6, 'octets' = 7),
                        text String,
                        flag Bool,
                        number Int64,
                        real Float64,
                        array Tuple(
                            values Array(Tuple(
                                kind Enum8('unset' = 0, 'text' = 1, 'flag' = 2, 'number' = 3, 'real' = 4, 'array' = 5, 'kvlist' = 6, 'octets' = 7),
                                text String,
                                flag Bool,
                                number Int64,
                                real Float64,
                                array String,
                                kvlist String,
                                octets String
                            ))
                        ),
                        kvlist Tuple(
                            values Array(Tuple(
                                key String,
                                value Tuple(
                                    kind Enum8('unset' = 0, 'text' = 1, 'flag' = 2, 'number' = 3, 'real' = 4, 'array' = 5, 'kvlist' = 6, 'octets' = 7),
                                    text String,
                                    flag Bool,
                                    number Int64,
                                    real Float64,
                                    array String,
                                    kvlist String,
                                    octets String
                                )
                            ))
                        ),
                        octets String
                    )
                )),
                dropped_attributes_count UInt32
            ),
            scope_spans Array(Tuple(
                scope Tuple(
                    name String,
                    version String,
                    attributes Array(Tuple(
                        key String,
                        value Tuple(
                            kind Enum8('unset' = 0, 'text' = 1, 'flag' = 2, 'number' = 3, 'real' = 4, 'array' = 5, 'kvlist' = 6, 'octets' = 7),
                            text String,
                            flag Bool,
                            number Int64,
                            real Float64,
                            array Tuple(
                                values Array(Tuple(
                                    kind Enum8('unset' = 0, 'text' = 1, 'flag' = 2, 'number' = 3, 'real' = 4, 'array' = 5, 'kvlist' = 6, 'octets' = 7),
                                    text String,
                                    flag Bool,
                                    number Int64,
                                    real Float64,
                                    array String,
                                    kvlist String,
                                    octets String
                                ))
                            ),
                            kvlist Tuple(
                                values Array(Tuple(
                                    key String,
                                    value Tuple(
                                        kind Enum8('unset' = 0, 'text' = 1, 'flag' = 2, 'number' = 3, 'real' = 4, 'array' = 5, 'kvlist' = 6, 'octets' = 7),
                                        text String,
                                        flag Bool,
                                        number Int64,
                                        real Float64,
                                        array String,
                                        kvlist String,
                                        octets String
                                    )
                                ))
                            ),
                            octets String
                        )
                    )),
                    dropped_attributes_count UInt32
                ),
                spans Array(Tuple(
                    trace_id String,
                    span_id String,
                    trace_state String,
                    parent_span_id String,
                    name String,
                    kind Int32,
                    start_time_unix_nano UInt64,
                    end_time_unix_nano UInt64,
                    attributes Array(Tuple(
                        key String,
                        value Tuple(
                            kind Enum8('unset' = 0, 'text' = 1, 'flag' = 2, 'number' = 3, 'real' = 4, 'array' = 5, 'kvlist' = 6, 'octets' = 7),
                            text String,
                            flag Bool,
                            number Int64,
                            real Float64,
                            array Tuple(
                                values Array(Tuple(
                                    kind Enum8('unset' = 0, 'text' = 1, 'flag' = 2, 'number' = 3, 'real' = 4, 'array' = 5, 'kvlist' = 6, 'octets' = 7),
                                    text String,
                                    flag Bool,
                                    number Int64,
                                    real Float64,
                                    array String,
                                    kvlist String,
                                    octets String
                                ))
                            ),
                            kvlist Tuple(
                                values Array(Tuple(
                                    key String,
                                    value Tuple(
                                        kind Enum8('unset' = 0, 'text' = 1, 'flag' = 2, 'number' = 3, 'real' = 4, 'array' = 5, 'kvlist' = 6, 'octets' = 7),
                                        text String,
                                        flag Bool,
                                        number Int64,
                                        real Float64,
                                        array String,
                                        kvlist String,
                                        octets String
                                    )
                                ))
                            ),
                            octets String
                        )
                    )),
                    dropped_attributes_count UInt32,
                    events Array(Tuple(
                        time_unix_nano UInt64,
                        name String,
                        attributes Array(Tuple(
                            key String,
                            value Tuple(
                                kind Enum8('unset' = 0, 'text' = 1, 'flag' = 2, 'number' = 3, 'real' = 4, 'array' = 5, 'kvlist' = 6, 'octets' = 7),
                                text String,
                                flag Bool,
                                number Int64,
                                real Float64,
                                array Tuple(
                                    values Array(Tuple(
                                        kind Enum8('unset' = 0, 'text' = 1, 'flag' = 2, 'number' = 3, 'real' = 4, 'array' = 5, 'kvlist' = 6, 'octets' = 7),
                                        text String,
                                        flag Bool,
                                        number Int64,
                                        real Float64,
                                        array String,
                                        kvlist String,
                                        octets String
                                    ))
                                ),
                                kvlist Tuple(
                                    values Array(Tuple(
                                        key String,
                                        value Tuple(
                                            kind Enum8('unset' = 0, 'text' = 1, 'flag' = 2, 'number' = 3, 'real' = 4, 'array' = 5, 'kvlist' = 6, 'octets' = 7),
                                            text String,
                                            flag Bool,
                                            number Int64,
                                            real Float64,
                                            array String,
                                            kvlist String,
                                            octets String
                                        )
                                    ))
                                ),
                                octets String
                            )
                        )),
                        dropped_attributes_count UInt32
                    )),
                    dropped_events_count UInt32,
                    links Array(Tuple(
                        trace_id String,
                        span_id String,
                        trace_state String,
                        attributes Array(Tuple(
                            key String,
                            value Tuple(
                                kind Enum8('unset' = 0, 'text' = 1, 'flag' = 2, 'number' = 3, 'real' = 4, 'array' = 5, 'kvlist' = 6, 'octets' = 7),
                                text String,
                                flag Bool,
                                number Int64,
                                real Float64,
                                array Tuple(
                                    values Array(Tuple(
                                        kind Enum8('unset' = 0, 'text' = 1, 'flag' = 2, 'number' = 3, 'real' = 4, 'array' = 5, 'kvlist' = 6, 'octets' = 7),
                                        text String,
                                        flag Bool,
                                        number Int64,
                                        real Float64,
                                        array String,
                                        kvlist String,
                                        octets String
                                    ))
                                ),
                                kvlist Tuple(
                                    values Array(Tuple(
                                        key String,
                                        value Tuple(
                                            kind Enum8('unset' = 0, 'text' = 1, 'flag' = 2, 'number' = 3, 'real' = 4, 'array' = 5, 'kvlist' = 6, 'octets' = 7),
                                            text String,
                                            flag Bool,
                                            number Int64,
                                            real Float64,
                                            array String,
                                            kvlist String,
                                            octets String
                                        )
                                    ))
                                ),
                                octets String
                            )
                        )),
                        dropped_attributes_count UInt32,
                        flags UInt32
                    )),
                    dropped_links_count UInt32,
                    status Tuple(
                        message String,
                        code Int32
                    ),
                    flags UInt32
                )),
                schema_url String
            )),
            schema_url String
        ))
    ),
    logs Tuple(
        resource_logs Array(Tuple(
            resource Tuple(
                attributes Array(Tuple(
                    key String,
                    value Tuple(
                        kind Enum8('unset' = 0, 'text' = 1, 'flag' = 2, 'number' = 3, 'real' = 4, 'array' = 5, 'kvlist' = 6, 'octets' = 7),
                        text String,
                        flag Bool,
                        number Int64,
                        real Float64,
                        array Tuple(
                            values Array(Tuple(
                                kind Enum8('unset' = 0, 'text' = 1, 'flag' = 2, 'number' = 3, 'real' = 4, 'array' = 5, 'kvlist' = 6, 'octets' = 7),
                                text String,
                                flag Bool,
                                number Int64,
                                real Float64,
                                array String,
                                kvlist String,
                                octets String
                            ))
                        ),
                        kvlist Tuple(
                            values Array(Tuple(
                                key String,
                                value Tuple(
                                    kind Enum8('unset' = 0, 'text' = 1, 'flag' = 2, 'number' = 3, 'real' = 4, 'array' = 5, 'kvlist' = 6, 'octets' = 7),
                                    text String,
                                    flag Bool,
                                    number Int64,
                                    real Float64,
                                    array String,
                                    kvlist String,
                                    octets String
                                )
                            ))
                        ),
                        octets String
                    )
                )),
                dropped_attributes_count UInt32
            ),
            scope_logs Array(Tuple(
                scope Tuple(
                    name String,
                    version String,
                    attributes Array(Tuple(
                        key String,
                        value Tuple(
                            kind Enum8('unset' = 0, 'text' = 1, 'flag' = 2, 'number' = 3, 'real' = 4, 'array' = 5, 'kvlist' = 6, 'octets' = 7),
                            text String,
                            flag Bool,
                            number Int64,
                            real Float64,
                            array Tuple(
                                values Array(Tuple(
                                    kind Enum8('unset' = 0, 'text' = 1, 'flag' = 2, 'number' = 3, 'real' = 4, 'array' = 5, 'kvlist' = 6, 'octets' = 7),
                                    text String,
                                    flag Bool,
                                    number Int64,
                                    real Float64,
                                    array String,
                                    kvlist String,
                                    octets String
                                ))
                            ),
                            kvlist Tuple(
                                values Array(Tuple(
                                    key String,
                                    value Tuple(
                                        kind Enum8('unset' = 0, 'text' = 1, 'flag' = 2, 'number' = 3, 'real' = 4, 'array' = 5, 'kvlist' = 6, 'octets' = 7),
                                        text String,
                                        flag Bool,
                                        number Int64,
                                        real Float64,
                                        array String,
                                        kvlist String,
                                        octets String
                                    )
                                ))
                            ),
                            octets String
                        )
                    )),
                    dropped_attributes_count UInt32
                ),
                log_records Array(Tuple(
                    time_unix_nano UInt64,
                    severity_number Int32,
                    severity_text String,
                    body Tuple(
                        kind Enum8('unset' = 0, 'text' = 1, 'flag' = 2, 'number' = 3, 'real' = 4, 'array' = 5, 'kvlist' = 6, 'octets' = 7),
                        text String,
                        flag Bool,
                        number Int64,
                        real Float64,
                        array Tuple(
                            values Array(Tuple(
                                kind Enum8('unset' = 0, 'text' = 1, 'flag' = 2, 'number' = 3, 'real' = 4, 'array' = 5, 'kvlist' = 6, 'octets' = 7),
                                text String,
                                flag Bool,
                                number Int64,
                                real Float64,
                                array String,
                                kvlist String,
                                octets String
                            ))
                        ),
                        kvlist Tuple(
                            values Array(Tuple(
                                key String,
                                value Tuple(
                                    kind Enum8('unset' = 0, 'text' = 1, 'flag' = 2, 'number' = 3, 'real' = 4, 'array' = 5, 'kvlist' = 6, 'octets' = 7),
                                    text String,
                                    flag Bool,
                                    number Int64,
                                    real Float64,
                                    array String,
                                    kvlist String,
                                    octets String
                                )
                            ))
                        ),
                        octets String
                    ),
                    attributes Array(Tuple(
                        key String,
                        value Tuple(
                            kind Enum8('unset' = 0, 'text' = 1, 'flag' = 2, 'number' = 3, 'real' = 4, 'array' = 5, 'kvlist' = 6, 'octets' = 7),
                            text String,
                            flag Bool,
                            number Int64,
                            real Float64,
                            array Tuple(
                                values Array(Tuple(
                                    kind Enum8('unset' = 0, 'text' = 1, 'flag' = 2, 'number' = 3, 'real' = 4, 'array' = 5, 'kvlist' = 6, 'octets' = 7),
                                    text String,
                                    flag Bool,
                                    number Int64,
                                    real Float64,
                                    array String,
                                    kvlist String,
                                    octets String
                                ))
                            ),
                            kvlist Tuple(
                                values Array(Tuple(
                                    key String,
                                    value Tuple(
                                        kind Enum8('unset' = 0, 'text' = 1, 'flag' = 2, 'number' = 3, 'real' = 4, 'array' = 5, 'kvlist' = 6, 'octets' = 7),
                                        text String,
                                        flag Bool,
                                        number Int64,
                                        real Float64,
                                        array String,
                                        kvlist String,
                                        octets String
                                    )
                                ))
                            ),
                            octets String
                        )
                    )),
                    dropped_attributes_count UInt32,
                    flags UInt32,
                    trace_id String,
                    span_id String,
                    observed_time_unix_nano UInt64,
                    event_name String
                )),
                schema_url String
            )),
            schema_url String
        ))
    ),
    rejects Array(Tuple(
        signal String,
        spans UInt32,
        reason String,
        request_hash String,
        sample String
    )),
    log UInt64 DEFAULT toUInt64OrZero(getSetting('log_comment'))
)
ENGINE = Null
