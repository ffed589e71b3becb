"""One planted cycle of each class is found and explained; the same transactions without it are clean."""

from __future__ import annotations

import numpy as np
import pytest
from story import Row, Story, received, sent

from checkers.transaction.cycles import CYCLES, Graph, cycles, with_orders

P0, P1, P2 = "t/0", "t/1", "t/2"


def cycles_of(story: Story) -> dict[str, str]:
    """Return the explanation of each cycle that was found, by class."""
    return {row["anomaly"]: row["detail"] for row in story.check() if row["anomaly"] in CYCLES}


def together(story: Story, *transactions: list[Row]) -> None:
    """Run transactions that overlap in time, each by a client of its own, each as one operation."""
    for index, messages in enumerate(transactions):
        story.op(f"c{index}", "txn", *messages, txn=len(story.operations), lasts=1000)


def test_g0_writes_of_two_transactions_interleave() -> None:
    story = Story()
    together(story, [sent(P0, 1, 0), sent(P1, 2, 1)], [sent(P0, 1 << 40, 1), sent(P1, 1 << 40 | 1, 0)])

    assert cycles_of(story) == {"G0": "T0 -ww t/0 0 then 1-> T1 -ww t/1 0 then 1-> T0"}


def test_g1c_of_length_three() -> None:
    story = Story()
    together(
        story,
        [sent(P0, 1, 0), received(P2, 2 << 40, 0)],
        [sent(P1, 1 << 40, 0), received(P0, 1, 0)],
        [sent(P2, 2 << 40, 0), received(P1, 1 << 40, 0)],
    )

    assert cycles_of(story) == {"G1c": "T0 -wr t/0 0-> T1 -wr t/1 0-> T2 -wr t/2 0-> T0"}


def test_g_single_a_transaction_misses_half_of_another() -> None:
    story = Story()
    story.op("w", "send", sent(P0, 7 << 40, 0))
    together(
        story,
        [sent(P0, 1, 1), sent(P1, 2, 0)],
        [received(P0, 7 << 40, 0), received(P0, 1 << 40, 2), received(P1, 2, 0)],
    )
    story.op("w", "send", sent(P0, 1 << 40, 2))
    story.op("d", "poll", received(P0, 1, 1))

    assert cycles_of(story) == {"G-single": "T2 -rw t/0 0, missed 1-> T1 -wr t/1 0-> T2"}


def test_g2_two_transactions_miss_each_other() -> None:
    """What they land on behind it was sent by nobody, so that no other dependency closes a shorter cycle."""
    story = Story()
    for place in (P0, P1):
        story.op("w", "send", sent(place, (7 << 40) + len(story.operations), 0))
    together(
        story,
        [sent(P0, 1, 1), received(P1, 7 << 40 | 1, 0), received(P1, 8 << 40, 2)],
        [sent(P1, 1 << 40, 1), received(P0, 7 << 40, 0), received(P0, 8 << 40 | 1, 2)],
    )
    story.op("d", "poll", received(P0, 1, 1), received(P1, 1 << 40, 1))

    assert cycles_of(story) == {"G2": "T2 -rw t/1 0, missed 1-> T3 -rw t/0 0, missed 1-> T2"}


def test_g0_process_a_later_transaction_of_one_process_lies_below() -> None:
    story = Story()
    story.op("a", "txn", sent(P0, 1, 1), txn=0, lasts=1000)
    story.op("a", "txn", sent(P0, 2, 0), txn=1, lasts=1000)

    assert cycles_of(story) == {"G0-process": "T1 -ww t/0 0 then 1-> T0 -process-> T1"}


def test_g1c_process_a_process_reads_what_follows_its_later_write() -> None:
    story = Story()
    story.op("a", "txn", received(P0, 1 << 40, 0), txn=0, lasts=1000)
    story.op("b", "txn", sent(P0, 1 << 40, 0), received(P1, 1, 0), txn=1, lasts=1000)
    story.op("a", "txn", sent(P1, 1, 0), txn=2, lasts=1000)

    assert list(cycles_of(story)) == ["G1c-process"]


def test_g0_realtime_a_transaction_lies_below_one_that_had_ended() -> None:
    story = Story()
    story.op("a", "txn", sent(P0, 1, 1), txn=0)
    story.op("b", "txn", sent(P0, 1 << 40, 0), txn=1)

    assert cycles_of(story) == {"G0-realtime": "T1 -ww t/0 0 then 1-> T0 -realtime-> T1"}


def test_g1c_realtime_a_transaction_reads_what_was_written_after_it_ended() -> None:
    story = Story()
    story.op("a", "txn", received(P0, 1 << 40, 0), txn=0)
    story.op("b", "txn", sent(P0, 1 << 40, 0), txn=1)

    assert list(cycles_of(story)) == ["G1c-realtime"]


@pytest.mark.parametrize("order", ["process", "realtime"])
@pytest.mark.parametrize(("base", "rws"), [("G-single", 1), ("G2", 2)])
def test_classes_with_anti_dependencies_and_an_order(order: str, base: str, rws: int) -> None:
    """Built as a graph: 0 -rw-> 1 (-ww-> 2 -rw->) ... -> last, and the last ends before 0 begins."""
    kind = np.array([2, 0, 2][: 2 * rws - 1])
    source = np.arange(kind.size)
    nodes = kind.size + 1
    process = np.zeros(nodes, np.int64) if order == "process" else np.arange(nodes)
    process[1:-1] = np.arange(5, 5 + nodes - 2)
    start_ns = np.full(nodes, 0)
    start_ns[0] = 100
    end_ns = np.full(nodes, 1000) if order == "process" else np.where(np.arange(nodes) == nodes - 1, 50, 1000)
    graph = with_orders(Graph(nodes, 0, kind, source, source + 1), process, start_ns, end_ns)

    assert [name for name, _ in cycles(graph)] == [f"{base}-{order}"]


def test_transactions_one_after_the_other_are_clean() -> None:
    story = Story()
    for index in range(5):
        story.op(f"c{index % 2}", "txn", sent(P0, index, index), sent(P1, 100 + index, index), txn=index)
        story.op("r", "poll", received(P0, index, index), received(P1, 100 + index, index))
        story.operations[2 * index]["txn"] = 2 * index

    assert cycles_of(story) == {}


def test_transactions_that_aborted_have_no_part_in_a_cycle() -> None:
    story = Story()
    together(story, [sent(P0, 1, 0), sent(P1, 2, 1)], [sent(P0, 1 << 40, 1), sent(P1, 1 << 40 | 1, 0)])
    story.operations[1]["outcome"] = "fail"

    assert cycles_of(story) == {}


def test_the_smallest_of_several_cycles_is_told() -> None:
    kind = np.zeros(6, np.int64)
    source, target = np.array([0, 1, 2, 3, 3, 4]), np.array([1, 2, 3, 0, 4, 3])

    assert [(name, len(edges)) for name, edges in cycles(Graph(5, 0, kind, source, target))] == [("G0", 2)]
