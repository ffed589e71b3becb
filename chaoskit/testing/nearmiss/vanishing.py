"""Near misses in which an explanation must vanish: the faults were elsewhere, at another time, idle, or not there."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from chaoskit.base.quantities import SECOND
from chaoskit.contract.guarantees.act import Act
from chaoskit.contract.guarantees.guarantee import Effect
from chaoskit.contract.guarantees.mechanism import Choice, Limit
from chaoskit.history.format.fault import Fault
from chaoskit.judge.explaining.attribution import Cause
from chaoskit.judge.explaining.effects import effects
from chaoskit.testing.nearmiss.change import RunChange
from chaoskit.testing.nearmiss.exceeding import exceeding
from chaoskit.testing.nearmiss.idle import idle_of
from chaoskit.testing.nearmiss.moving import moved
from chaoskit.testing.nearmiss.settings import leader_unchanged, strong
from chaoskit.testing.nearmiss.stored import Concern, StoredRun, named, numbers_of, waits_ns

APART_NS = 90 * SECOND
"""How far a fault is moved away from what it explained; what a mechanism waits for after a fault comes on top."""

_SOON_NS = SECOND
"""How long after somebody saw what it explained a fault is moved to."""

_BRIEF_NS = SECOND
"""How long a fault lasted that was not proved healed, once it is moved to a time before."""


def vanishing(run: StoredRun) -> Iterator[RunChange]:
    """Yield the changes of a run after which explanations must vanish."""
    numbers = [number for number in numbers_of(run.faults) if run.concern([number]).rows.size]
    for number in numbers:
        concern = run.concern([number])
        for kind, words, fault in _changed(run, concern, _fault(run, number)):
            faults = tuple(
                other if other.number != number else fault for other in run.faults if fault or other.number != number
            )
            yield RunChange(
                kind=kind,
                words=words,
                fault=number,
                rows=concern.rows,
                faults=tuple(other for other in faults if other is not None),
                excluded=_names([number]),
                nothing_new=kind in ("idle", "removed"),
            )
    if len(numbers) > 1:
        yield from _all(run, numbers)
    yield from leader_unchanged(run)
    yield from strong(run)
    yield from exceeding(run)


def _changed(run: StoredRun, concern: Concern, fault: Fault) -> Iterator[tuple[str, str, Fault | None]]:
    yield from moved(run, concern, fault)
    yield from _shifted(run, concern, fault)
    for words, idle in idle_of(run, fault):
        yield "idle", words, idle
    yield "removed", f"{fault.kind} of {', '.join(fault.targets)} removed", None


def _shifted(run: StoredRun, concern: Concern, fault: Fault) -> Iterator[tuple[str, str, Fault]]:
    healed = fault if fault.healed_ns is not None else replace(fault, healed_ns=_done_ns(fault) + _BRIEF_NS)
    assert healed.healed_ns is not None
    longest_ns = max((waits_ns(mechanism) for mechanism in concern.mechanisms), default=0)
    early_ns = concern.first_ns - APART_NS - longest_ns - healed.healed_ns
    if early_ns < 0:
        yield "before", f"{fault.kind} moved {-early_ns / 1e9:.1f} s back", _at(healed, early_ns)
    if (seen_ns := run.experienced_ns(concern)) is not None:
        soon_ns = seen_ns + _SOON_NS - fault.start_ns
        yield "later", f"{fault.kind} moved {soon_ns / 1e9:.1f} s on, after it was seen", _at(fault, soon_ns)
    if run.one_by_one:  # else nobody knows when the last event was
        late_ns = run.end_ns + APART_NS - fault.start_ns
        yield "after", f"{fault.kind} moved {late_ns / 1e9:.1f} s on", _at(fault, late_ns)


def _done_ns(fault: Fault) -> int:
    return fault.start_ns if fault.effective_ns is None else fault.effective_ns


def _at(fault: Fault, later_ns: int) -> Fault:
    """Return a fault moved in time."""

    def shifted(at_ns: int | None) -> int | None:
        return None if at_ns is None else at_ns + later_ns

    return replace(
        fault,
        start_ns=fault.start_ns + later_ns,
        effective_ns=shifted(fault.effective_ns),
        heal_ns=shifted(fault.heal_ns),
        healed_ns=shifted(fault.healed_ns),
    )


def _all(run: StoredRun, numbers: list[int]) -> Iterator[RunChange]:
    """Yield what is changed of all faults together that explain something: then no fault explains anything any more."""
    concern = run.concern(numbers)
    others = [fault for fault in run.faults if fault.number not in numbers]
    alone: dict[str, list[Fault]] = {"removed": [], "other-host": [], "before": [], "after": [], "idle": []}
    for number in numbers:
        fault = _fault(run, number)
        variants = list(_changed(run, concern, fault))
        for kind in ("other-host", "before", "after", "idle"):
            mine = [changed for name, _, changed in variants if name == kind and changed is not None]
            if kind == "other-host" and not mine:
                mine = [changed for name, _, changed in variants if name == "other-client" and changed is not None]
            alone[kind] += mine[-1:] if kind == "other-host" else mine[:1]
    for kind, changed in alone.items():
        if kind != "removed" and len(changed) < len(numbers):
            continue
        yield RunChange(
            kind=kind,
            words=f"all {len(numbers)} faults: {kind}",
            rows=concern.rows,
            faults=tuple(sorted([*others, *changed], key=lambda fault: fault.number)),
            excluded=_by_faults(run, others),
            nothing_new=kind in ("idle", "removed"),
        )


def _fault(run: StoredRun, number: int) -> Fault:
    return next(fault for fault in run.faults if fault.number == number)


def _names(numbers: list[int]) -> Callable[[Cause], bool]:
    """Return what a cause must not do: name one of some faults, or none at all where its mechanism needs one."""
    return lambda cause: named(cause, numbers) or _needs_one(cause)


def _by_faults(run: StoredRun, others: list[Fault]) -> Callable[[Cause], bool]:
    """Return what a cause must not do: need a fault, unless that is another one that may have done something."""
    acting = {effect.number for effect in effects(others) if _did_something(effect)}
    return lambda cause: _needs_one(cause) or (bool(cause.story.faults) and not named(cause, acting))


def _did_something(effect: Effect) -> bool:
    return bool(effect.acts & ~Act.NONE) or bool(effect.damage) or bool(effect.ahead_ns)


def _needs_one(cause: Cause) -> bool:
    """Return whether a cause names no fault although its mechanism needs one."""
    return not cause.story.faults and not isinstance(cause.mechanism, Choice | Limit)
