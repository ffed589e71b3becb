"""The faults of a run as in verdict.json: what each did, what it could have taken, and what it cost."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from chaoskit.history.compacting.placements import Placements
from chaoskit.history.digesting.live import digested
from chaoskit.history.format.fault import Fault
from chaoskit.history.reading.reader import History
from chaoskit.judge.explaining.attribution import Explained
from chaoskit.judge.explaining.effects import effects
from chaoskit.judge.faults.at_stake import at_stake
from chaoskit.judge.faults.consequence import consequences, stayed
from chaoskit.judge.faults.in_flight import open_under
from chaoskit.judge.faults.instances import InstanceEnd, found_by_ends
from chaoskit.judge.faults.owned import owned_inputs
from chaoskit.judge.faults.readers import Readers, readers_of
from chaoskit.judge.findings.guard import Guard
from chaoskit.judge.subject.subject import Subject
from chaoskit.judge.timing.machine import Second, late_ms

_READERS = "the check of consumers"
_STAKES = "the measurement of what was at stake"


def fault_rows(  # noqa: PLR0917 - what there is of a run
    subject: Subject,
    seconds: Sequence[Second],
    history: History,
    placements: Placements,
    explained: Explained,
    load: Mapping[str, Any],
    took: Mapping[int, int],
    ends: Sequence[InstanceEnd],
    guard: Guard,
) -> Iterator[dict[str, Any]]:
    """Yield the faults as in verdict.json.

    Args:
        subject: what the run declared.
        seconds: what the machine did.
        history: the history of the run.
        placements: where partitions were stored.
        explained: what explains the findings.
        load: the result of `chaoskit.judge.timing.metrics.figures`.
        took: of how many findings each fault is a cause.
        ends: how instances of the application ended.
        guard: keeps what raises.
    """
    recorded, answered = history.recorded_faults, subject.liveness.get("answered", ())
    read = guard.run(lambda: readers_of(history, load["end_ns"]), list[Readers], _READERS) if recorded else []
    of_readers = [changed for reader in read for changed in reader.changes()]
    late = [late_ms(seconds, fault.start_ns, fault.healed_ns) for fault in recorded]
    late_starts = subject.late_starts(recorded)
    # What was done to single messages was not meant to put a host out of sync.
    of_messages = {effect.number for effect in effects(recorded) if effect.messages}
    stakes, opened = _stakes(subject, history, placements, took, read, guard)
    consequent: Sequence[tuple[dict[str, Any] | None, list[str]]] = guard.run(
        lambda: consequences(
            recorded,
            load["behaviour"],
            placements,
            of_readers,
            explained,
            answered,
            late,
            ended=found_by_ends(ends, explained.findings),
        ),
        lambda: [(None, [])] * len(recorded),
        "the measurement of consequences",
    )
    for fault, times, (changed, doubts), its_late in zip(
        recorded, load["availability"]["by_fault"], consequent, late, strict=True
    ):
        yield {
            **_fault(fault, times),
            "consequence": changed,
            "consequence_doubts": doubts,
            "at_stake": stakes.get(fault.number),
            **opened.get(fault.number, {}),
            "late_ms": _milliseconds(late_starts.get(fault.number)),
            "stayed_in_sync": [] if fault.number in of_messages else stayed(fault, placements, answered),
            "machine_late_ms": its_late,
            "expected": subject.expected_of(fault),
        }


def _stakes(  # noqa: PLR0917 - see `fault_rows`
    subject: Subject,
    history: History,
    placements: Placements,
    took: Mapping[int, int],
    read: Sequence[Readers],
    guard: Guard,
) -> tuple[Mapping[int, int], Mapping[int, Mapping[str, int]]]:
    """Return how many messages each fault could have taken, and what was open when it began, by its number."""
    if digested(history.folder):
        return {}, {}
    declared = subject.plan.declared if subject.plan else None
    stakes: Mapping[int, int] = guard.run(
        lambda: {**at_stake(history, subject, placements, took), **owned_inputs(history, subject)}, dict, _STAKES
    )
    return stakes, guard.run(lambda: open_under(history, read, declared) if declared else {}, dict, _STAKES)


def _fault(fault: Fault, times: Mapping[str, Any]) -> dict[str, Any]:
    """Return a fault as in verdict.json."""
    return {
        "kind": fault.kind,
        "targets": list(fault.targets),
        "effective": fault.effective_ns is not None,
        "healed": fault.healed_ns is not None,
        "at_ms": _milliseconds(fault.start_ns),
        "effective_ms": _milliseconds(fault.effective_ns),
        "undone_at_ms": _milliseconds(fault.heal_ns),
        "healed_at_ms": _milliseconds(fault.healed_ns),
        "evidence": fault.evidence,
        **times,
    }


def _milliseconds(at_ns: int | None) -> float | None:
    return None if at_ns is None else round(at_ns / 1e6, 1)
