"""Attributes of any kind, as agents may send them."""

from __future__ import annotations

from hypothesis import strategies as st
from otlp_values import Value

octets = st.one_of(st.text(max_size=12).map(str.encode), st.binary(max_size=12))
scalars = st.one_of(
    st.just(Value("unset")),
    octets.map(lambda data: Value("string", data)),
    st.booleans().map(lambda flag: Value("bool", flag)),
    st.integers(-(2**63), 2**63 - 1).map(lambda number: Value("int", number)),
    st.floats().map(lambda number: Value("double", number)),
    octets.map(lambda data: Value("bytes", data)),
)
values = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4).map(lambda elements: Value("array", elements)),
        st.lists(st.tuples(octets, inner), max_size=4).map(lambda members: Value("kvlist", members)),
    ),
    max_leaves=12,
)
attribute_lists = st.lists(st.tuples(octets, values), max_size=6)
