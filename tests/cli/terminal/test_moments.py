from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrospan.ingest.cli.terminal.moments import Moment, Zone, parse_time

NOW = Moment.read("2026-11-21 14:40:00")


def test_reads_what_clickhouse_prints_and_writes_rfc3339() -> None:
    moment = Moment.read("2026-11-21 14:32:07.123456789")
    assert moment.rfc3339() == "2026-11-21T14:32:07.123456789Z"
    assert moment.clickhouse() == "2026-11-21 14:32:07.123456789"
    assert Moment.read("1970-01-01 00:00:00") == 0


@pytest.mark.parametrize("typed", ["2262-04-12", "2263-01-01", "9999-12-31T23:59:59Z"])
def test_a_time_that_the_engine_does_not_know_is_refused(typed: str) -> None:
    with pytest.raises(ValueError, match="is after 2262-04-11, the latest possible time"):
        parse_time(typed)
    assert parse_time("2262-04-11T23:47:16.854775807Z") == 2**63 - 1


@given(st.integers(0, 9_223_372_036_000_000_000))
def test_a_moment_survives_being_written(nanoseconds: int) -> None:
    moment = Moment(nanoseconds)
    assert Moment.read(moment.clickhouse()) == moment == parse_time(moment.rfc3339())


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("14:32", "2026-11-21 14:32:00"),
        ("14:40", "2026-11-21 14:40:00"),
        ("14:41", "2026-11-20 14:41:00"),  # the latest such time is yesterday's
        ("9:05:07.25", "2026-11-21 09:05:07.25"),
        ("2h ago", "2026-11-21 12:40:00"),
        ("90m", "2026-11-21 13:10:00"),
        ("1.5 hours ago", "2026-11-21 13:10:00"),
        ("2 days ago", "2026-11-19 14:40:00"),
        ("now", "2026-11-21 14:40:00"),
        ("2026-11-21T14:32:00Z", "2026-11-21 14:32:00"),
        ("2026-11-21T14:32:00.123456789+01:00", "2026-11-21 13:32:00.123456789"),
        ("2026-11-21 14:32", "2026-11-21 14:32:00"),
        ("2026-11-21", "2026-11-21 00:00:00"),
        ("2016-12-31T23:59:60.5Z", "2016-12-31 23:59:59.5"),  # a leap second
        ("2017-01-01T05:44:60+05:45", "2016-12-31 23:59:59"),
    ],
)
def test_times_as_people_type_them(typed: str, meant: str) -> None:
    assert parse_time(typed, NOW) == Moment.read(meant)


@pytest.mark.parametrize(
    "typed",
    [
        "",
        "25:00",
        "14:99",
        "yesterday",
        "2026-13-01",
        "99999999999d ago",
        "1969-01-01",
        "2h from now",
        "2026-11-21T14:32:60Z",
    ],
)
def test_what_is_not_a_time_is_refused_with_what_is(typed: str) -> None:
    with pytest.raises(ValueError, match="RFC 3339"):
        parse_time(typed, NOW)


@given(st.text())
def test_any_text_is_a_time_or_refused(typed: str) -> None:
    try:
        assert parse_time(typed, NOW) >= 0
    except ValueError as error:
        assert "is not a time" in str(error)


@contextmanager
def living_in(zone: str) -> Iterator[Zone]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TZ", zone)
        time.tzset()
        yield Zone(utc=False)
    time.tzset()


def test_the_local_zone_is_shown_and_named() -> None:
    with living_in("Asia/Kolkata") as zone:
        assert zone.clock(NOW) == "20:10:00"
        assert zone.name() == "Asia/Kolkata (+05:30)"
        assert zone.told(NOW) == "2026-11-21 20:10:00.000 +05:30"
        assert Zone(utc=True).clock(NOW) == "14:40:00"
        assert Zone(utc=True).name() == "UTC"
        assert Zone(utc=True).told(NOW) == "2026-11-21 14:40:00.000 UTC"


@pytest.mark.parametrize(
    ("place", "at", "shown", "named"),
    [
        ("Europe/Oslo", ["2026-07-01 10:00:00"], ["12:00:00"], "+02:00"),
        ("Europe/Oslo", ["2026-07-01 10:00:00", "2026-12-01 10:00:00"], ["12:00:00", "11:00:00"], "+01:00 and +02:00"),
        ("Europe/Oslo", ["2026-10-25 00:59:59", "2026-10-25 01:00:00", "2026-10-25 02:00:00"],
         ["02:59:59 +02:00", "02:00:00 +01:00", "03:00:00"], "+01:00 and +02:00"),
        ("Australia/Lord_Howe", ["2026-04-04 14:59:59", "2026-04-04 15:00:00", "2026-04-04 15:30:00"],
         ["01:59:59 +11:00", "01:30:00 +10:30", "02:00:00"], "+10:30 and +11:00"),
        ("America/St_Johns", ["2026-03-08 05:29:59", "2026-03-08 05:30:00"], ["01:59:59", "03:00:00"], "-02:30 and -03:30"),
        ("Asia/Kathmandu", ["2026-11-21 18:15:00"], ["00:00:00"], "+05:45"),
    ],
)  # fmt: skip
def test_each_offset_that_times_are_shown_with_is_named(
    place: str, at: list[str], shown: list[str], named: str
) -> None:
    with living_in(place) as zone:
        assert [zone.clock(Moment.read(each)) for each in at] == shown
        assert zone.name() == f"{place} ({named})"


def test_a_time_of_another_offset_than_was_named_has_its_own() -> None:
    with living_in("Europe/Oslo") as zone:
        summer, winter = Moment.read("2026-07-01 10:00:00"), Moment.read("2026-12-01 10:00:00")
        assert (zone.second(summer), zone.name()) == ("2026-07-01 12:00:00", "Europe/Oslo (+02:00)")
        assert zone.second(winter) == "2026-12-01 11:00:00 +01:00"
        assert zone.listed(summer, summer) == "12:00:00"
        assert zone.told(winter) == "2026-12-01 11:00:00.000 +01:00"


def test_lists_show_the_date_of_what_is_older_than_a_day() -> None:
    zone = Zone(utc=True)
    assert zone.listed(Moment.read("2026-11-21 09:00:00"), NOW) == "09:00:00"
    assert zone.listed(Moment.read("2026-11-19 09:00:00"), NOW) == "2026-11-19 09:00"
    assert zone.listed(None, NOW) == "-"
