"""`record: latency` and a history of one run have the same verdict, or `record: latency` says that it does not know.

What only a history shows, because it takes whole messages of several clients, is named in `ONLY_IN_HISTORIES`.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, field, replace
from pathlib import Path

from hypothesis import event, example, given, note
from hypothesis import strategies as st
from profiles import examples
from runs import StoryRun, counts_of, needed

from chaoskit.judge.verdict.verdict import Verdict
from chaoskit.model.audit import Bounds

ONLY_IN_HISTORIES = {"order-violation", "offset-conflict", "sequence-jump", "elsewhere"}
"""Real time between clients; the positions that several clients were told of one message; what follows from either."""

MEMORY = "/dev/shm"  # everything is synced, which nobody needs here
OTHER = 1 << 40
FAULTS = ["kill", "power-cut", "pause", "clock-jump"]
SETTINGS = [{"acks": "all"}, {"acks": 1}, {"acks": 0}, {"acks": "all", "enable.idempotence": False}]


@dataclass
class Tale:
    """What clients did, and what the logs had at the end: by partition, values in order of position from `low` on."""

    partitions: int
    settings: dict[str, object]
    sends: list[tuple[int, float, int | None, str | None]] = field(default_factory=list)
    reads: list[tuple[float, list[tuple[int, int]]]] = field(default_factory=list)
    logs: dict[int, list[int]] = field(default_factory=dict)
    low: int = 0
    complete: bool = True
    faults: list[tuple[str, str, int, int]] = field(default_factory=list)
    leaders: list[tuple[float, str]] = field(default_factory=list)

    def judged(self, folder: Path, record: str) -> Verdict:
        load = {"kind": "log", "producers": 2, "consumers": 1, "rate": 10, "duration": "60s", "producer": self.settings}
        run = StoryRun(folder / record, {**load, "partitions": self.partitions}, record)
        for at, host in self.leaders:
            run.led(host, at)
        for kind, host, start, healed in self.faults:
            run.fault(kind, (host,), start, healed, **needed(kind))
        for value, at, position, outcome in self.sends:
            run.send(f"producer-{value >> 40}", value, at, position if outcome == "ok" else None, outcome)
        run.op("consumer-0", "assign", 0)
        for at, messages in self.reads:
            run.poll("consumer-0", at, messages)
        run.poll("auditor", 131, [value for number in self.logs for value in self.kept(number)])
        ends = {number: self.low + len(log) if log else self.low for number, log in self.logs.items()}
        run.audit(130, {("log-0", number): Bounds(self.low, end, self.complete, end) for number, end in ends.items()})
        return run.judged(60, 10, 2)

    def kept(self, number: int) -> list[tuple[int, int]]:
        return [(value, self.low + place) for place, value in enumerate(self.logs[number])]


@st.composite
def tales(draw: st.DrawFn) -> Tale:
    """A sound log, and what may go wrong with it."""
    tale = Tale(draw(st.integers(1, 2)), draw(st.sampled_from(SETTINGS)))
    first, step = draw(st.sampled_from([1.0, 1.06, 1.13, 1.2])), draw(st.sampled_from([0.02, 0.2, 1.0]))
    stored: dict[int, list[int]] = {number: [] for number in range(tale.partitions)}
    for number in range(draw(st.integers(1, 40))):
        value = number // 2 + (OTHER if number % 2 else 0)
        outcome = draw(st.sampled_from(["ok"] * 12 + ["info", "fail", None]))
        in_log = outcome != "fail" and (outcome == "ok" or draw(st.booleans()))
        log = stored[value % tale.partitions]
        tale.sends.append((value, first + number * step, len(log) if in_log else None, outcome))
        if in_log:
            log.append(value)
    after = 3 + 40 * step
    for _ in range(draw(st.integers(0, 2))):
        until = draw(st.integers(0, 20))
        tale.reads.append((after, [(v, at) for log in stored.values() for at, v in enumerate(log[:until])]))
        after += 1
    if len(tale.reads) > 1:
        read = {v for v, _ in tale.reads[0][1]}
        tale.reads[1] = (tale.reads[1][0], [receipt for receipt in tale.reads[1][1] if receipt[0] not in read])
    tale.logs = {number: spoiled(draw, log) for number, log in stored.items()}
    tale.complete = draw(st.integers(0, 5)) > 0
    if draw(st.integers(0, 5)) == 0:
        tale.low = draw(st.integers(1, 5))
        tale.logs = {number: log[tale.low :] for number, log in tale.logs.items()}
    for _ in range(draw(st.integers(0, 2))):
        start = draw(st.integers(0, 80))
        host = draw(st.sampled_from(["n1", "n2", "n3"]))
        tale.faults.append((draw(st.sampled_from(FAULTS)), host, start, start + draw(st.integers(1, 10))))
    tale.leaders = [(0.0, "n1")]
    if draw(st.booleans()):
        tale.leaders.append((draw(st.integers(1, 80)) + 0.5, "n2"))
    return tale


def spoiled(draw: st.DrawFn, log: list[int]) -> list[int]:
    """What became of a log."""
    log = list(log)
    spoiling = draw(st.sampled_from(["nothing", "nothing", "hole", "tail", "twice", "swapped", "strange"]))
    if spoiling == "nothing" or len(log) < 2:
        return log
    at = draw(st.integers(0, len(log) - 2))
    if spoiling == "hole":
        del log[at : at + draw(st.integers(1, 3))]
    elif spoiling == "tail":
        del log[at:]
    elif spoiling == "twice":
        log.append(log[at])
    elif spoiling == "swapped":
        log[at], log[at + 1] = log[at + 1], log[at]
    else:
        log.append(log[-1] + 1000 * 2)
    return log


def named(name: str, verdict: Verdict) -> str:
    """Return the name of an anomaly; of duplicates that the final read did not see both, `elsewhere`."""
    seen = [
        (case["operation"], case["other_operation"]) for case in verdict.anomalies[name].examples if name == "duplicate"
    ]
    both = [pair for pair in seen if all(text.startswith("poll by auditor") for text in pair)]
    return "elsewhere" if seen and not both else name


MOVED = Tale(
    partitions=1,
    settings={"acks": "all", "enable.idempotence": False},
    sends=[(0, 1.0, 0, "ok"), (OTHER, 1.2, 1, "ok"), (1, 1.4, 2, "ok"), (OTHER + 1, 1.6, 3, "ok")],
    reads=[(11.0, [(0, 0), (OTHER, 1), (1, 2), (OTHER + 1, 3)])],
    logs={0: [0, 1, OTHER + 1]},
    low=1,
    faults=[("power-cut", "n2", 7, 10)],
    leaders=[(0.0, "n1"), (74.5, "n2")],
)
"""The log begins later and has no gap, but a message that was there has made room for one from below: it is lost."""

UNENDED = Tale(
    partitions=1,
    settings={"acks": 1},
    sends=[(0, 1.1, 0, "ok"), (1, 1.3, 1, None), (2, 1.6, 2, "ok")],
    logs={0: [0, 1, 2, 1]},
    faults=[("power-cut", "n2", 1, 3)],
    leaders=[(0.0, "n1")],
)
"""A send that never ended has its own time."""

AMONG_OTHERS = replace(UNENDED, sends=[(0, 1.02, 0, "ok"), (2, 1.04, 2, "ok"), (1, 59.0, 1, None)])
"""The same, between two that were sent and acknowledged in one moment: its time is not theirs."""


@examples(fast=40, nightly=10_000)
@given(tales())
@example(MOVED)
@example(UNENDED)
@example(AMONG_OTHERS)
def test_both_records_have_the_same_verdict(tale: Tale) -> None:
    with tempfile.TemporaryDirectory(dir=MEMORY if Path(MEMORY).is_dir() else None) as folder:
        history, latency = (tale.judged(Path(folder), record) for record in ("history", "latency"))
    wrong = {named(name, history) for name, (_, allowed) in counts_of(history).items() if not allowed}
    note(f"history: {history.verdict} {counts_of(history)}")
    note(f"latency: {latency.verdict} {counts_of(latency)} {latency.reasons}")
    event(f"history {history.verdict}, latency {latency.verdict}")

    assert latency.verdict in (history.verdict, "unknown") or (wrong and wrong <= ONLY_IN_HISTORIES)
    if latency.verdict == "invalid":
        assert history.verdict == "invalid"
