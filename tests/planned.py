"""The rules of all systems, and what ready-made scenarios plan: for tests of the one against the other."""

from __future__ import annotations

from functools import cache

from guaranteed import PLACE, POSITIONS, SECOND
from shipped import variants

from chaoskit.contract.guarantees.guarantee import Effect
from chaoskit.contract.installed import nemesis, system
from chaoskit.history.format.fault import Fault
from chaoskit.judge.explaining.effects import effects as effects_of
from chaoskit.scenario.plan import Plan, make_plan

SYSTEMS = ("kafka", "pulsar", "bookkeeper", "rabbitmq", "rocketmq", "mosquitto", "cyclonedds", "zenoh")
RULES = {rule.id: (name, rule) for name in SYSTEMS for rule in system(name, "system").guarantees.rules}


@cache
def plan_of(spec: str) -> Plan:
    written = variants()[spec]
    return make_plan(written.parsed(), written.source, seed=1)


def planned_effects(plan: Plan) -> list[Effect]:
    """Return the faults of a plan, each with as many hosts as it may hit."""
    effects: list[Effect] = []
    for number, fault in enumerate(plan.faults):
        kind = nemesis(fault.kind)
        # One that waits for something begins a second after the one before.
        start_ns = fault.at_ns or (effects[-1].start_ns + SECOND if effects else 0)
        for on in fault.on:
            hit = _hosts(plan, on) if kind.hits == "hosts" else (on,)
            row = Fault(number, fault.kind, start_ns, (), None, fault.parameters, hit)
            row.effective_ns, row.healed_ns = start_ns + 1000, start_ns + (fault.for_ns or SECOND)
            _carry_out(row)
            effects += effects_of([row])
    return effects


def _carry_out(fault: Fault) -> None:
    """Note what the fault has done to the positions of the one partition on paper."""
    if fault.kind == "delete-records":
        fault.deleted = {PLACE: POSITIONS}
    if fault.kind == "reset-offsets":
        fault.reset = {PLACE: (0, POSITIONS) if fault.parameters["position"] == "latest" else (POSITIONS, 0)}


def _hosts(plan: Plan, on: str) -> tuple[str, ...]:
    names = plan.host_names
    if on in names:
        return (on,)
    place = getattr(plan.system_options, "place", None)
    role = on.partition(":")[0]
    if place is not None and role != "all":
        placed = place(len(names))
        indexes = placed.zookeepers if role.startswith("zookeeper") else placed.bookies
        return tuple(names[index] for index in indexes)
    if role == "object-store":
        return (names[-1],)
    ensemble = getattr(plan.system_options, "zookeeper", None)
    if ensemble is not None and role.startswith("zookeeper"):
        return tuple(names[index] for index in ensemble.servers(len(names)))
    followers = names[1 : plan.declared.replication]
    chosen = {"all": names, "followers": followers, "follower": followers[:1]}
    return tuple(chosen.get(role, names[:1]))
