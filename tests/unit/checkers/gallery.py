"""One history for each anomaly that shows it, and one beside it that comes close and does not.

python tests/unit/checkers/gallery.py     prints the table of docs/anomalies.md
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
from story import Story, assigned, committed, received, sent

from chaoskit.checker import Audit, FaultWindow
from chaoskit.history.schema import OPERATIONS
from chaoskit.judge import examples
from chaoskit.summary import describe_example

P, Q = "t/0", "t/1"
MS, SECOND = 1_000_000, 1_000_000_000
OTHER, THIRD = 1 << 40, 2 << 40
"""First values of two more producers."""

GALLERY: dict[str, Callable[[bool], Story]] = {}
"""By anomaly: makes its history; told False, the one beside it."""


def shows(name: str) -> Callable[[Callable[[bool], Story]], Callable[[bool], Story]]:
    """Hang a history in the gallery."""

    def hang(make: Callable[[bool], Story]) -> Callable[[bool], Story]:
        GALLERY[name] = make
        return make

    return hang


def blank() -> Story:
    """An empty history, in ms."""
    return Story(unit_ns=MS, bound_ns=100 * MS)


def log(count: int, *, complete: bool | None = None) -> Story:
    """Messages 0 to count - 1 of one producer, each at its own position."""
    story = blank()
    story.audits = {} if complete is None else {P: Audit(0, count, complete)}
    for value in range(count):
        story.op("p", "send", sent(P, value, value))
    return story


def reads(story: Story, client: str, *values: int, **more: Any) -> int:
    """Poll these messages, each at the position of its number."""
    return story.op(client, "poll", *(received(P, value, value) for value in values), **more)


def example(name: str) -> str:
    """Return the first finding of an anomaly's history, as the summary of a run tells it."""
    story = GALLERY[name](True)
    rows = story.table()
    chosen = rows.filter(pa.array([row == name for row in rows["anomaly"].to_pylist()]))
    return describe_example(next(examples(chosen, pa.Table.from_pylist(story.operations, OPERATIONS))))


def table() -> str:
    """Return the examples of all anomalies as a Markdown table."""
    lines = ["| name | example |", "|---|---|"]
    return "\n".join([*lines, *(f"| `{name}` | {example(name)} |" for name in GALLERY)])


@shows("lost")
def lost(broken: bool) -> Story:
    story = log(2, complete=True)
    reads(story, "auditor", *((0,) if broken else (0, 1)))
    return story


@shows("unseen")
def unseen(broken: bool) -> Story:
    story = log(2, complete=False)
    reads(story, "auditor", *((0,) if broken else (0, 1)))
    return story


@shows("late")
def late(broken: bool) -> Story:
    story = log(3)
    if not broken:
        reads(story, "d", 1)
    reads(story, "c", 0, 2)
    reads(story, "e", 1)
    return story


@shows("dropped-as-duplicate")
def dropped(broken: bool) -> Story:
    story = log(1, complete=True)
    story.op("p", "send", sent(P, 1), error="duplicate" if broken else None)
    reads(story, "auditor", 0)
    return story


@shows("failed-visible")
def failed_visible(broken: bool) -> Story:
    story = blank()
    story.op("p", "send", sent(P, 0), outcome="fail" if broken else "info")
    reads(story, "c", 0)
    return story


@shows("truncated")
def truncated(broken: bool) -> Story:
    story = log(2)
    story.audits[P] = Audit(0, 1 if broken else 2, complete=True)
    reads(story, "c", 0, 1)
    reads(story, "auditor", *((0,) if broken else (0, 1)))
    return story


@shows("duplicate")
def duplicate(broken: bool) -> Story:
    story = log(1)
    story.op("c", "poll", received(P, 0, 0), received(P, 0, 1 if broken else 0))
    return story


@shows("redelivered")
def redelivered(broken: bool) -> Story:
    story = log(1)
    reads(story, "c", 0)
    if not broken:
        story.op("c", "seek")
    reads(story, "c", 0)
    return story


@shows("offset-conflict")
def offset_conflict(broken: bool) -> Story:
    story = log(2)
    story.op("c", "poll", received(P, 0, 0))
    story.op("d", "poll", received(P, 1, 0 if broken else 1))
    return story


@shows("reordered")
def reordered(broken: bool) -> Story:
    story = blank()
    story.op("p", "send", sent(P, 0, 1 if broken else 0), lasts=50)
    story.op("p", "send", sent(P, 1, 0 if broken else 1), lasts=50)
    return story


@shows("order-violation")
def order_violation(broken: bool) -> Story:
    story = blank()
    story.op("p", "send", sent(P, 0, 1), lasts=5 if broken else 50)
    story.op("q", "send", sent(P, OTHER, 0))
    return story


@shows("sequence-jump")
def sequence_jump(broken: bool) -> Story:
    story = log(2)
    story.op("c", "poll", received(P, 0, 0), received(P, 1, 1), *([received(P, 0, 2)] if broken else []))
    return story


@shows("skipped")
def skipped(broken: bool) -> Story:
    story = log(3)
    reads(story, "c", 0, 2)
    if broken:
        reads(story, "d", 1)
    return story


@shows("rewound")
def rewound(broken: bool) -> Story:
    story = log(2)
    reads(story, "c", 0, 1)
    if not broken:
        story.op("c", "assign")
    reads(story, "c", 0)
    return story


@shows("phantom")
def phantom(broken: bool) -> Story:
    story = log(1)
    story.op("c", "poll", received(P, 7 if broken else 0, 0))
    return story


@shows("corrupt")
def corrupt(broken: bool) -> Story:
    story = log(1)
    story.op("c", "poll", received(P, 0, 0, payload="corrupt" if broken else "ok"))
    return story


@shows("misrouted")
def misrouted(broken: bool) -> Story:
    story = log(1)
    story.op("c", "poll", received(Q if broken else P, 0, 0))
    return story


def transaction(end: str, *messages: dict[str, Any]) -> Story:
    """One transaction of client a, which ends as told."""
    story = blank()
    story.op("a", "begin", txn=0)
    for message in messages:
        story.op("a", "send", message, txn=0)
    story.op("a", "end", txn=0, outcome=end)
    return story


@shows("aborted-read")
def aborted_read(broken: bool) -> Story:
    story = transaction("fail" if broken else "ok", sent(P, 0, 0))
    reads(story, "c", 0)
    return story


@shows("precommitted-read")
def precommitted_read(broken: bool) -> Story:
    story = transaction("ok", sent(P, 0, 0))
    reads(story, "c", 0, start=15 if broken else 40, lasts=2)
    return story


@shows("torn-transaction")
def torn_transaction(broken: bool) -> Story:
    story = transaction("ok", sent(P, 0, 0), sent(Q, 1, 0))
    story.audits |= {P: Audit(0, 1, complete=True), Q: Audit(0, 0 if broken else 1, complete=True)}
    story.op("auditor", "poll", received(P, 0, 0), *([] if broken else [received(Q, 1, 0)]))
    return story


@shows("zombie-write")
def zombie_write(broken: bool) -> Story:
    story = blank()
    story.op("a#1", "init")
    story.op("a#2" if broken else "b#2", "init")
    story.op("a#1", "send", sent(P, 0, 0))
    reads(story, "c", 0)
    return story


def together(*transactions: list[dict[str, Any]], apart: bool = False) -> Story:
    """Whole transactions, each by a client of its own, all at once or one after the other."""
    story = blank()
    for index, messages in enumerate(transactions):
        story.op(f"c{index}", "txn", *messages, txn=index, lasts=5 if apart else 1000)
    return story


@shows("G0")
def g0(broken: bool) -> Story:
    first, second = (1, 0) if broken else (0, 1)
    return together([sent(P, 0, 0), sent(Q, 1, first)], [sent(P, OTHER, 1), sent(Q, OTHER + 1, second)])


@shows("G1c")
def g1c(broken: bool) -> Story:
    first = received("t/2", THIRD, 0) if broken else sent("t/3", 1, 0)
    return together(
        [sent(P, 0, 0), first],
        [sent(Q, OTHER, 0), received(P, 0, 0)],
        [sent("t/2", THIRD, 0), received(Q, OTHER, 0)],
    )


@shows("G-single")
def g_single(broken: bool) -> Story:
    passing = received(P, OTHER, 2) if broken else received(P, 0, 1)
    story = together([sent(P, 0, 1), sent(Q, 1, 0)], [received(P, THIRD, 0), passing, received(Q, 1, 0)])
    story.op("w", "send", sent(P, THIRD, 0))
    story.op("w", "send", sent(P, OTHER, 2))
    reads(story, "d")
    story.op("d", "poll", received(P, 0, 1))
    return story


def missing_each_other(*, both: bool, clients: tuple[str, str], apart: bool) -> Story:
    """Two transactions, the first of which passes over the second's write, and maybe the other way round.

    What they land on was sent by nobody, so that no other dependency closes a shorter cycle.
    """
    story = blank()
    story.op("w", "send", sent(P, THIRD, 0))
    story.op("w", "send", sent(Q, THIRD + 1, 0))
    lasts = 5 if apart else 1000
    missed = [received(P, THIRD, 0), received(P, THIRD + 8, 2)]
    story.op(clients[0], "txn", sent(P, 0, 1), received(Q, THIRD + 1, 0), received(Q, THIRD + 9, 2), txn=2, lasts=lasts)
    story.op(clients[1], "txn", sent(Q, OTHER, 1), *(missed if both else []), txn=3, lasts=lasts)
    story.op("d", "poll", received(P, 0, 1), received(Q, OTHER, 1))
    return story


@shows("G2")
def g2(broken: bool) -> Story:
    return missing_each_other(both=broken, clients=("a", "b"), apart=False)


@shows("G0-process")
def g0_process(broken: bool) -> Story:
    story = blank()
    story.op("a", "txn", sent(P, 0, 1), txn=0, lasts=1000)
    story.op("a" if broken else "b", "txn", sent(P, 1, 0), txn=1, lasts=1000)
    return story


@shows("G1c-process")
def g1c_process(broken: bool) -> Story:
    story = blank()
    story.op("a", "txn", received(P, OTHER, 0), txn=0, lasts=1000)
    story.op("b", "txn", sent(P, OTHER, 0), received(Q, 0, 0), txn=1, lasts=1000)
    story.op("a" if broken else "c", "txn", sent(Q, 0, 0), txn=2, lasts=1000)
    return story


def passed_over(*, lasts: int, reader: str = "a") -> Story:
    """A writer's message is passed over by a reader that began when the writer had written."""
    story = blank()
    story.op("w", "send", sent(P, THIRD, 0), lasts=1000)
    story.op("b", "txn", sent(P, 0, 1), txn=1, lasts=lasts)
    story.op(reader, "txn", received(P, THIRD, 0), received(P, THIRD + 8, 2), txn=2, lasts=1000)
    story.op("d", "poll", received(P, 0, 1), lasts=1000)
    return story


@shows("G-single-process")
def g_single_process(broken: bool) -> Story:
    return passed_over(lasts=1000, reader="b" if broken else "a")


@shows("G-single-realtime")
def g_single_realtime(broken: bool) -> Story:
    return passed_over(lasts=5 if broken else 1000)


def two_passed_over(*, lasts: int, reader: str) -> Story:
    """A chain: the reader passes over a write of somebody who passes over a write that came before the reader."""
    story = blank()
    story.op("w", "send", sent(P, THIRD, 0), lasts=1000)
    story.op("w", "send", sent(Q, THIRD + 1, 0), lasts=1000)
    story.op("b", "txn", sent(Q, OTHER, 1), txn=2, lasts=lasts)
    story.op(reader, "txn", received(P, THIRD, 0), received(P, THIRD + 8, 2), txn=3, lasts=1000)
    middle = [sent(P, 0, 1), received(Q, THIRD + 1, 0), received(Q, THIRD + 9, 2)]
    story.op("m", "txn", *middle, txn=4, start=5, lasts=1000)
    story.op("d", "poll", received(P, 0, 1), received(Q, OTHER, 1), lasts=1000)
    return story


@shows("G2-process")
def g2_process(broken: bool) -> Story:
    return two_passed_over(lasts=1000, reader="b" if broken else "a")


@shows("G2-realtime")
def g2_realtime(broken: bool) -> Story:
    return two_passed_over(lasts=5 if broken else 1000, reader="a")


@shows("G0-realtime")
def g0_realtime(broken: bool) -> Story:
    return together([sent(P, 0, 1)], [sent(P, OTHER, 0)], apart=broken)


@shows("G1c-realtime")
def g1c_realtime(broken: bool) -> Story:
    return together([received(P, OTHER, 0)], [sent(P, OTHER, 0)], apart=broken)


@shows("commit-regression")
def commit_regression(broken: bool) -> Story:
    story = log(2)
    story.op("a", "assign", assigned(P, generation=1))
    reads(story, "a", 0, 1)
    story.op("a", "commit", committed(P, 2))
    story.op("a", "commit", committed(P, 1 if broken else 2))
    return story


@shows("commit-beyond")
def commit_beyond(broken: bool) -> Story:
    story = log(2)
    story.op("a", "assign", assigned(P, generation=1))
    reads(story, "a", 0)
    story.op("a", "commit", committed(P, 2 if broken else 1))
    reads(story, "d", 0, 1)
    return story


@shows("double-assignment")
def double_assignment(broken: bool) -> Story:
    story = log(1)
    story.op("a", "assign", assigned(P, generation=1))
    story.op("b", "assign", assigned(P, generation=1 if broken else 2))
    for client in ("a", "b"):
        story.op(client, "close")
    return story


@shows("stuck-partition")
def stuck_partition(broken: bool) -> Story:
    story = log(2)
    story.op("a", "assign", assigned(P, generation=1))
    reads(story, "a", *((0,) if broken else (0, 1)))
    story.op("a", "close", start=500)
    reads(story, "auditor", 0, 1)
    return story


def timed(*waits_ms: float, fault: FaultWindow | None = None) -> Story:
    """Sends every 10 ms, each acknowledged after 1 ms or, for the last ones, as told."""
    story = Story(faults=(fault,) if fault else (), bound_ns=2 * SECOND)
    for index, wait_ms in enumerate([1.0] * 200 + list(waits_ms)):
        due_ns = 10 * MS * index
        story.op("p", "send", sent(P, index, index, intended_ns=due_ns), start=due_ns, lasts=int(wait_ms * MS))
    return story


@shows("unavailable")
def unavailable(broken: bool) -> Story:
    return timed(1500 if broken else 900)


@shows("slow-recovery")
def slow_recovery(broken: bool) -> Story:
    return timed(4000 if broken else 1900, fault=FaultWindow(0, "kill", 1990 * MS, 1995 * MS, 2 * SECOND))


@shows("latency-outlier")
def latency_outlier(broken: bool) -> Story:
    return timed(300 if broken else 90)


if __name__ == "__main__":
    print(table())
