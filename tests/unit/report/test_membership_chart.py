"""Who led, who was in sync and who was not, as intervals of a chart."""

from __future__ import annotations

import pyarrow as pa

from chaoskit.history.compacting.placements import Placements
from chaoskit.judge.faults.readers import Break, Owner, Readers
from chaoskit.model.tables import PLACEMENTS
from chaoskit.report.figures import charts
from chaoskit.report.figures.membership import lanes, reader_spans, spans

_S = 1_000_000_000
_DOMAIN = [2.0, 20.0]


def _placements(*standings: tuple[float, str, str, str | None]) -> Placements:
    rows = [
        {"at_ns": int(at_s * 1e9), "topic": "t", "partition": 0, "host": host, "role": role, "epoch": 1}
        for at_s, leader, holders, in_sync in standings
        for role, hosts in (("leader", leader), ("replica", holders), ("in-sync", in_sync or ""))
        for host in hosts.split()
    ]
    return Placements(pa.Table.from_pylist(rows, PLACEMENTS))


def _bars(placements: Placements) -> list[tuple[str, str, float, float]]:
    spec = lanes(spans(placements, _DOMAIN), _DOMAIN)
    assert spec is not None
    (bars, _) = spec["layer"]
    return [(bar["name"], bar["colour"], bar["from"], bar["to"]) for bar in bars["data"]["values"]]


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
    assert not spans(_placements((1, "n1", "n1 n2", "n1 n2")), _DOMAIN)


def test_who_reads_for_a_group_is_drawn_from_one_owner_to_the_next() -> None:
    owners = {"g": [Owner(1 * _S, "consumer-0"), Owner(9 * _S, "consumer-1")], "h": [Owner(3 * _S, "consumer-2")]}
    readers = [
        Readers(("t", 0), owners, [Break(5 * _S, 7 * _S, "consumer-1"), Break(9 * _S, None, "consumer-3")]),
        Readers(("t", 1), {"g": [Owner(1 * _S, "consumer-0")]}, []),
    ]

    bars = [(span["name"], span["what"], span["from"], span["to"]) for span in reader_spans(readers, _DOMAIN)]

    assert bars == [
        ("t/0 of g", "consumer-0", 2.0, 9.0),
        ("t/0 of g", "consumer-1", 9.0, 20.0),
        ("t/0 of h", "consumer-2", 3.0, 20.0),
        ("consumer-1 of t/0", "not subscribed", 5.0, 7.0),
        ("consumer-3 of t/0", "not subscribed", 9.0, 20.0),
    ]
    assert len({span["colour"] for span in reader_spans(readers, _DOMAIN)}) == 4
