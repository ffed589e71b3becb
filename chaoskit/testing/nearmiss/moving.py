"""Near misses in which a fault hit somebody else."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from chaoskit.contract.guarantees.act import Damage
from chaoskit.contract.guarantees.mechanism import Copies, Limit, Mechanism, Party, Retry, Session, Way
from chaoskit.contract.installed import nemesis
from chaoskit.history.format.fault import Fault
from chaoskit.judge.explaining.effects import effects
from chaoskit.testing.nearmiss.idle import STRANGER_CLIENTS, STRANGER_HOST
from chaoskit.testing.nearmiss.stored import Concern, StoredRun

_STRANGER = "stranger"
_NO_PARTITION = 9_999


def moved(run: StoredRun, concern: Concern, fault: Fault) -> Iterator[tuple[str, str, Fault]]:
    """Yield a fault as if it had hit a bystander: kind of the near miss, in words, the fault."""
    for kind, name in _bystanders(run, concern, fault):
        words = f"{fault.kind} moved from {', '.join(fault.targets)} to {name}"
        yield kind, words, replace(fault, targets=(name,), on=(name,))
    yield from _spared(run, concern, fault)
    (effect,) = effects([fault])
    if effect.messages is not None:
        for pattern in (_STRANGER, *(f"{client}7" for client in sorted(concern.clients) if client[-1:].isdecimal())):
            words = f"{fault.kind}: messages of {pattern} in place of {effect.messages.client}"
            yield "other-client", words, replace(fault, parameters={**fault.parameters, "of_client": pattern})
    if effect.damage & Damage.CORRUPTS and all(isinstance(mechanism, Copies) for mechanism in concern.mechanisms):
        for topic in sorted({topic for topic, _ in concern.places})[:1]:
            words = f"{fault.kind} moved to partition {_NO_PARTITION} of {topic}"
            yield "other-partition", words, replace(fault, damaged=((topic, _NO_PARTITION),))


def _spared(run: StoredRun, concern: Concern, fault: Fault) -> Iterator[tuple[str, str, Fault]]:
    """Yield a fault of several hosts as if it had spared those that led all the time, if what they had must be gone."""
    if nemesis(fault.kind).hits != "hosts" or nemesis(fault.kind).on_links:
        return
    stayed = not any(run.placements.new_leaders(place) for place in concern.places)
    led = _leaders(run, concern)
    others = tuple(name for name in fault.targets if name not in led)
    if led and stayed and others and len(others) < len(fault.targets) and all(map(_needs_leader, concern.mechanisms)):
        yield (
            "leader-spared",
            f"{fault.kind} spared {', '.join(sorted(led))}",
            replace(fault, targets=others, on=others),
        )


def _bystanders(run: StoredRun, concern: Concern, fault: Fault) -> Iterator[tuple[str, str]]:
    """Yield whom a fault can be moved to, the one that no run has last."""
    if nemesis(fault.kind).hits == "clients":
        anyone = any(_takes_anyone(mechanism) for mechanism in concern.mechanisms)
        alike = {name.partition("-")[0] for name in fault.targets}
        others = [name for name in run.clients if name.partition("-")[0] in alike and name not in concern.clients]
        yield from (("other-client", name) for name in others[:1] if not anyone)
        yield from (("other-client", name) for name in STRANGER_CLIENTS)
        return
    parties = _hosts_of(run, concern)
    yield from (("other-host", name) for name in [host for host in run.hosts if host not in parties][:1])
    if not nemesis(fault.kind).on_links and all(_needs_leader(mechanism) for mechanism in concern.mechanisms):
        led = _leaders(run, concern)
        followers = sorted(_holders(run, concern) - led) if led else []
        yield from (("other-host", name) for name in followers[:1])
    yield "other-host", STRANGER_HOST


def _takes_anyone(mechanism: Mechanism) -> bool:
    """Return whether any client may have been the one that was hit."""
    group = isinstance(mechanism, Session) and mechanism.group
    group = group or (isinstance(mechanism, Limit) and mechanism.whole_group)
    return group or (isinstance(mechanism, Way) and mechanism.anyone)


def _needs_leader(mechanism: Mechanism) -> bool:
    """Return whether the leader, or its way, must have been hit."""
    if isinstance(mechanism, Copies):
        nowhere = not mechanism.hosts and not mechanism.anywhere
        return nowhere and (mechanism.enough is None or mechanism.leader_counts)
    if isinstance(mechanism, Way | Retry | Session | Limit):
        return Party.LEADER in mechanism.path and not {Party.HOLDERS, Party.BROKERS} & set(mechanism.path)
    return False


def _leaders(run: StoredRun, concern: Concern) -> set[str]:
    standings = [standing for place in concern.places for standing in run.placements.standings(place)]
    return {standing.leader for standing in standings} - {""}


def _holders(run: StoredRun, concern: Concern) -> set[str]:
    standings = [standing for place in concern.places for standing in run.placements.standings(place)]
    return {host for standing in standings for host in standing.holders}


def _hosts_of(run: StoredRun, concern: Concern) -> set[str]:
    """Return the hosts that are a party of what is explained: who led or stored the partitions, or is on a way; the
    seats of clients; and servers whose data any rule names."""
    parties = _leaders(run, concern) | _holders(run, concern) | _servers(run)
    plan = run.subject.plan
    parties |= set(run.hosts) - set(plan.scenario.cluster.system_hosts) if plan else set()
    for mechanism in concern.mechanisms:
        if isinstance(mechanism, Way | Retry | Session | Limit) and Party.BROKERS in mechanism.path:
            parties |= set(run.hosts)
    return parties


def _servers(run: StoredRun) -> set[str]:
    plan = run.subject.plan
    rules = plan.system.guarantees.rules if plan else ()
    mechanisms = [mechanism for rule in rules for mechanism in rule.mechanisms(plan.declared)] if plan else []
    named = [mechanism for mechanism in mechanisms if isinstance(mechanism, Copies)]
    return {host for mechanism in named for host in (*mechanism.hosts, *mechanism.anywhere)}
