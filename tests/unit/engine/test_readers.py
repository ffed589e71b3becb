"""Who read a partition for a group, and who was not subscribed, until the end of the load."""

from __future__ import annotations

from pathlib import Path

import pytest

from chaoskit.contract.workloads.datamodel import LOG
from chaoskit.history.compacting.compact import compact
from chaoskit.history.format.models import write_topics
from chaoskit.history.format.origin import read_origin, write_origin
from chaoskit.history.reading.reader import History
from chaoskit.history.recording.wal import WalWriter
from chaoskit.judge.faults.consequence_words import seen
from chaoskit.judge.faults.readers import Break, Owner, Readers, readers_of
from chaoskit.model.observations.row import KINDS
from chaoskit.model.outcome import OK

S = 1_000_000_000
END_NS = 60 * S

Act = tuple[int, str, str, str]
"""When (s), client, kind, name; each takes half a second."""


def _read(folder: Path, *acts: Act) -> list[Readers]:
    wal = folder / "wal"
    wal.mkdir()
    write_origin(wal)
    write_topics(wal, {"t": LOG.name})
    origin = read_origin(wal)
    for process, client in enumerate(dict.fromkeys(client for _, client, *_ in acts)):
        with WalWriter(wal, client, process) as log:
            topic = log.name("t")
            for at_s, _, kind, name in (act for act in acts if act[1] == client):
                op = log.invoke(log.name("assign" if kind == "assigned" else "subscribe"), origin + at_s * S)
                log.observed(op, KINDS.index(kind), topic, 0, log.name(name), 0, 0)
                log.complete(op, origin + at_s * S + S // 2, OK)
    compact(folder)
    return readers_of(History.open(folder), END_NS)


def test_a_partition_has_one_owner_after_the_other_in_each_group(tmp_path: Path) -> None:
    (read,) = _read(
        tmp_path,
        (1, "consumer-0", "assigned", "g"),
        (2, "consumer-2", "assigned", "h"),
        (5, "consumer-0", "assigned", "g"),
        (9, "consumer-1", "assigned", "g"),
        (30, "consumer-0#1", "assigned", "g"),
        (61, "consumer-1", "assigned", "g"),
    )

    assert read.owners == {
        "g": [
            Owner(1 * S + S // 2, "consumer-0"),
            Owner(9 * S + S // 2, "consumer-1"),
            Owner(30 * S + S // 2, "consumer-0"),
        ],
        "h": [Owner(2 * S + S // 2, "consumer-2")],
    }
    assert [seen(change) for change in read.changes()] == [
        "consumer-1 took over t/0 from consumer-0 at 9.5 s",
        "consumer-0 took over t/0 from consumer-1 at 30.5 s",
    ]


@pytest.mark.parametrize(
    ("acts", "breaks"),
    [
        ([(1, "c-0", "subscribed", "")], []),
        ([(1, "c-0", "subscribed", ""), (5, "c-0", "unsubscribed", "")], [(5, None)]),
        ([(1, "c-0", "subscribed", ""), (5, "c-0", "unsubscribed", ""), (8, "c-0", "subscribed", "")], [(5, 8)]),
        ([(1, "c-0", "subscribed", ""), (5, "c-0", "cancelled", ""), (8, "c-0#1", "subscribed", "")], [(5, 8)]),
        ([(1, "c-0", "subscribed", ""), (61, "c-0", "unsubscribed", "")], []),
        ([(1, "c-0", "subscribed", ""), (5, "c-0", "unsubscribed", ""), (61, "c-0", "subscribed", "")], [(5, None)]),
        ([(1, "c-0", "subscribed", ""), (5, "c-1", "subscribed", "")], []),
    ],
)
def test_a_client_is_not_subscribed_until_it_subscribes_again(
    tmp_path: Path, acts: list[Act], breaks: list[tuple[int, int | None]]
) -> None:
    (read,) = _read(tmp_path, *acts)

    half = S // 2
    assert read.breaks == [
        Break(begin * S + half, None if end is None else end * S + half, "c-0") for begin, end in breaks
    ]
