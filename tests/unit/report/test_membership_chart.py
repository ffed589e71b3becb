"""Who led, who was in sync and who was not, as intervals of a chart."""

from __future__ import annotations

import pyarrow as pa

from chaoskit.history.compacting.placements import Placements
from chaoskit.history.format.schema import PLACEMENTS
from chaoskit.report import charts
from chaoskit.report.membership import membership


def _placements(*standings: tuple[float, str, str, str | None]) -> Placements:
    rows = [
        {"at_ns": int(at_s * 1e9), "topic": "t", "partition": 0, "host": host, "role": role, "epoch": 1}
        for at_s, leader, holders, in_sync in standings
        for role, hosts in (("leader", leader), ("replica", holders), ("in-sync", in_sync or ""))
        for host in hosts.split()
    ]
    return Placements(pa.Table.from_pylist(rows, PLACEMENTS))


def _bars(placements: Placements) -> list[tuple[str, str, float, float]]:
    spec = membership(placements, [2.0, 20.0])
    assert spec is not None
    (bars, _) = spec["layer"]
    return [(each["name"], each["colour"], each["from"], each["to"]) for each in bars["data"]["values"]]


def test_a_host_has_an_interval_for_each_state() -> None:
    placements = _placements((1, "n1", "n1 n2", "n1 n2"), (5, "n1", "n1 n2", "n1"), (9, "n2", "n1 n2", "n1 n2"))

    assert _bars(placements) == [
        ("n1 of t/0", charts.BLUE, 2.0, 9.0),
        ("n1 of t/0", charts.GREEN, 9.0, 20.0),
        ("n2 of t/0", charts.GREEN, 2.0, 5.0),
        ("n2 of t/0", charts.ORANGE, 5.0, 9.0),
        ("n2 of t/0", charts.BLUE, 9.0, 20.0),
    ]


def test_where_nobody_tells_who_is_in_sync_hosts_store() -> None:
    assert _bars(_placements((1, "", "n1 n2", None), (9, "", "n1", None))) == [
        ("n1 of t/0", charts.GREY, 2.0, 20.0),
        ("n2 of t/0", charts.GREY, 2.0, 9.0),
    ]


def test_what_never_changed_is_not_drawn() -> None:
    assert membership(_placements((1, "n1", "n1 n2", "n1 n2")), [2.0, 20.0]) is None
