"""What systems allow themselves, for tests of their guarantees: what is conceivable under some settings and faults.

Runs are made on paper: messages are written all the time, every host that may lead leads, and is followed by another
one, with each set of in-sync replicas that the settings allow. An anomaly is allowed if a rule explains it somewhere.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cache
from itertools import combinations

import numpy as np
import pyarrow as pa

from chaoskit.contract.checkers.anomaly import CRASHED, About, Anomaly
from chaoskit.contract.guarantees.act import Act
from chaoskit.contract.guarantees.guarantee import Allowance, Declared, Effect, Rule
from chaoskit.contract.guarantees.mechanism import Session
from chaoskit.contract.installed import anomalies, system
from chaoskit.contract.workloads.traits import Group
from chaoskit.history.compacting.placements import Placements
from chaoskit.history.compacting.tiers import Tiered
from chaoskit.history.format.fault import Fault
from chaoskit.judge.explaining.attribution import derive
from chaoskit.judge.explaining.cases import Cases, ConcernedMessage
from chaoskit.judge.explaining.effects import effects as effects_of
from chaoskit.judge.explaining.record import NEVER, NONE, Ints, Record
from chaoskit.model.place import Place
from chaoskit.model.tables import PLACEMENTS

SECOND = 1_000_000_000
PLACE = ("topic", 0)
_FEW = 4
POSITIONS = 1000
"""More than there are findings on paper, each of which is of the next position."""


def effect(
    kind: str, *targets: str, start_s: float = 8, healed_s: float | None = 10, number: int = 0, **parameters: object
) -> Effect:
    """A fault as it is recorded, proved a moment after its beginning."""
    start_ns, healed_ns = int(start_s * SECOND), None if healed_s is None else int(healed_s * SECOND)
    given = _needed(kind) | parameters
    fault = Fault(number, kind, start_ns, (), None, given, targets)
    fault.effective_ns, fault.heal_ns, fault.healed_ns = start_ns + 1000, healed_ns, healed_ns
    return effects_of([fault])[0]


def _needed(kind: str) -> dict[str, object]:
    """Return parameters without which a fault of a kind does not exist."""
    if kind in ("bit-flip", "truncate"):
        return {"files": "**"}
    more: dict[str, dict[str, object]] = {"clock-offset": {"offset": "60s"}, "clock-jump": {"by": "60s"}}
    return {"version": "9.9.9"} if kind == "rolling-upgrade" else more.get(kind, {})


class PaperRecord(Record):
    """A run on paper: two producers and two consumers, and nothing recorded one by one."""

    def client_of(self, op: int) -> str:
        return f"consumer-{op % 2}"

    def seat(self, client: str) -> str:
        """Between peers, on hosts; otherwise elsewhere."""
        return "" if self.declared.brokers else {"producer-0": "n1", "consumer-0": "n2"}.get(client, "n3")

    def local_start(self, place: Place) -> int | None:
        """Where a log is tiered, only the object store has anything."""
        return POSITIONS

    def tiered(self, place: Place) -> list[Tiered]:
        return [Tiered(0, POSITIONS)]

    def clients(self, role: str) -> list[str]:
        group = self.declared.get(Group)
        return [f"{role}-{number}" for number in range(group.members if group and role == "consumer" else 2)]


def acts_of(*, abrupt: bool = False, on_links: bool = False, delays: bool = True) -> Act:
    """What a fault did that may have ended processes, cut links, or else silenced its targets."""
    return Act.ENDS if abrupt else Act.NONE if not delays else Act.CUTS if on_links else Act.SILENCES


def table(
    name: str,
    declared: Declared,
    effects: Sequence[Effect],
    refused: Collection[str] = (),
    *,
    counted: bool = False,
) -> dict[str, Allowance]:
    """What a system says of each anomaly; what it promises, if nothing allows it.

    `refused` are the known issues that are not accepted; `counted`: that as many messages wait as may be.
    """
    guarantees = system(name, "system").guarantees
    known = anomalies()
    allowances = {anomaly: Allowance(False, why) for anomaly, why in guarantees.promises(declared).items()}
    rules = [rule for rule in guarantees.rules if rule.id not in refused]
    applying = [(rule, why) for rule in rules if (why := applies(rule, declared, effects, counted=counted))]
    for direct in (False, True):
        for rule, why in reversed(applying):
            follow = {after for root in rule.allows for after in known[root].implies} - guarantees.apart
            names = rule.allows if direct else () if rule.alone else follow
            allowances |= dict.fromkeys(names, Allowance(True, why, rule.remedy, rule.id))
    return allowances


def applies(rule: Rule, declared: Declared, effects: Sequence[Effect], *, counted: bool = False) -> str:
    """Why a rule may explain something of its first anomaly under some faults; empty if it explains nothing."""
    numbered = sorted(effects, key=lambda one: one.start_ns)
    anomaly = anomalies()[rule.allows[0]]
    holders = hosts_of(declared) if anomaly is CRASHED else holders_of(declared)
    for mechanism in rule.mechanisms(declared):
        process = mechanism.process if isinstance(mechanism, Session) else ""
        place = (f"{process}@n1", 0) if process else PLACE
        cases = cases_of(anomaly, place)
        for placements in _placements(declared, numbered, holders):
            placed = placements.with_fixed({place: holders}) if process else placements
            record = PaperRecord(declared, numbered, placed, None, hosts_of(declared))
            derived = derive(record, mechanism, cases)
            if (derived.story_of != NONE).any() or (counted and derived.open.any()):
                return mechanism.why
    return ""


def hosts_of(declared: Declared) -> list[str]:
    return [f"n{number + 1}" for number in range(declared.hosts)]


def cases_of(anomaly: Anomaly, place: Place) -> Cases:
    """A finding of a message written each quarter of a second, of both clients; noticed at once, or after a while."""
    written_s = np.arange(0, 60, 0.25)
    noticed_s = np.concatenate([written_s, written_s + 15]) if anomaly.about is About.READING else written_s
    written = np.resize(written_s, noticed_s.size)
    written_ns, at_ns = (np.int64(1) * (times_s * SECOND).astype(np.int64) for times_s in (written, noticed_s))
    count = written_ns.size
    message = ConcernedMessage(
        np.zeros(2 * count, np.int64), np.tile(written_ns, 2), np.tile(written_ns, 2) + SECOND // 10
    )
    op: Ints = np.repeat(np.array([0, 1]), count)
    nothing, position = np.full(2 * count, NONE), np.arange(2 * count)
    return Cases(
        anomaly, [place], np.zeros(2 * count, np.int64), (message,), message, position, position, op, nothing, None,
        np.tile(at_ns, 2) + SECOND // 10, np.full(2 * count, NEVER),
    )  # fmt: skip


def _placements(declared: Declared, effects: Sequence[Effect], holders: list[str]) -> Iterator[Placements]:
    starts = sorted({one.start_ns / SECOND for one in effects})
    changes = [start + 0.5 for start in starts] or [30.0]
    for leader in _leaders(declared, holders):
        others = [host for host in holders if host != leader]
        for size in _sizes(declared, holders):
            for more in combinations(others, size - 1):
                in_sync = (leader, *more)
                yield placed_as([(0, leader, holders, in_sync)])
                if len(effects) > 1:
                    yield placed_as([(0, leader, holders, holders), (changes[0], leader, holders, in_sync)])
                for following in others if _leaders(declared, holders) == holders else ():
                    first = [(0.0, leader, holders, in_sync)]
                    yield placed_as([*first, (changes[-1], following, holders, holders)])
                    if len(changes) > 1:
                        yield placed_as([*first, (changes[0], following, holders, (following,))])


def placed_as(standings: Sequence[tuple[float, str, Sequence[str], Sequence[str]]]) -> Placements:
    return _placements_of(tuple((at_s, leader, tuple(some), tuple(more)) for at_s, leader, some, more in standings))


@cache
def _placements_of(standings: tuple[tuple[float, str, tuple[str, ...], tuple[str, ...]], ...]) -> Placements:
    rows = [
        {"at_ns": int(at_s * SECOND), "topic": PLACE[0], "partition": PLACE[1], "host": host, "role": role}
        for at_s, leader, holders, in_sync in standings
        for role, hosts in (("leader", [leader]), ("replica", holders), ("in-sync", in_sync))
        for host in hosts
    ]
    return Placements(pa.Table.from_pylist(rows, PLACEMENTS))


def holders_of(declared: Declared) -> list[str]:
    place = getattr(declared.options, "place", None)
    if place is not None:
        return [f"n{index + 1}" for index in place(declared.hosts).bookies]
    if hasattr(declared.options, "bridge"):
        return hosts_of(declared)
    count = declared.replication if declared.topics and declared.replication else declared.brokers
    return [f"n{number + 1}" for number in range(max(1, min(count, declared.brokers or 1)))]


def _sizes(declared: Declared, holders: list[str]) -> Sequence[int]:
    """How many hosts may be in sync; of many, as few as there may be, or all."""
    least = max(_least(declared), 1)
    return range(least, len(holders) + 1) if len(holders) <= _FEW else (least, len(holders))


def _leaders(declared: Declared, holders: list[str]) -> list[str]:
    """Who may lead: all, or those that were made masters."""
    groups = getattr(declared.options, "groups", None)
    if groups is None or declared.options.elects:
        return holders
    return [f"n{group.start + 1}" for group in groups(declared.hosts)]


def _least(declared: Declared) -> int:
    """How many hosts have what is acknowledged, at least."""
    topic: Mapping[str, object] = getattr(declared.options, "topic", None) or {}
    config = getattr(declared.options, "config", None)
    given = config if isinstance(config, Mapping) else {}
    asked = topic.get("min.insync.replicas") or given.get("min.insync.replicas") or given.get("minInSyncReplicas") or 1
    return min(int(str(asked)), len(holders_of(declared)))
