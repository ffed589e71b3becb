"""Checks of the faults of a scenario: kinds, their keys, what they need, and whom they name."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pydantic import BaseModel

from chaoskit.base.errors import BadInput, Problems, nearest
from chaoskit.base.quantities import format_duration
from chaoskit.contract.faults.nemesis import HostNames, Nemesis, OnDisk
from chaoskit.contract.installed import nemesis, taken_by_others
from chaoskit.contract.mistakes import validated
from chaoskit.contract.power import words
from chaoskit.scenario.model import ONE_KIND_OF_TIME, FaultSpec, KindChoice
from chaoskit.scenario.timeline import CLIENT_ROLES, PlannedFault, Targets, as_list, check_targets
from chaoskit.scenario.zones import Zones, expand


@dataclass(frozen=True, slots=True)
class Allowed:
    """What the faults of a scenario may target, and the powers of hosts and cluster.

    Attributes:
        targets: the possible targets.
        roles: roles of the system.
        partitions: partitions of the workload, as `topic/partition`; empty if they are created later.
        host_powers, service_powers: what hosts and cluster can do.
        disk_powers: what each data disk of a host can do, by its name.
        missing: why powers are missing, or which options they require.
        attached: whether the system runs already.
        inventory: whether an inventory names its hosts; otherwise only commands of its owner reach them.
        drivers: whether other machines run the clients.
        fixed: why messages must stay in the partitions that the workload declares; empty: they need not.
    """

    targets: Targets
    roles: Sequence[str]
    partitions: Sequence[str]
    host_powers: Collection[type]
    disk_powers: Mapping[str, Collection[type]]
    service_powers: Collection[type]
    missing: Mapping[type, str]
    attached: bool = False
    inventory: bool = False
    drivers: bool = False
    fixed: str = ""


def check_fault(spec: FaultSpec, place: str, source: str, allowed: Allowed | None) -> None:
    """Check a fault at a place such as `faults.0`; without `allowed`, only its kinds and keys.

    Raises:
        BadInput: names every wrong key and the remedy.
    """
    problems = Problems(source)
    choices = []
    for key, kind, keys in _kinds(spec, place):
        choice = problems.tried(validated, KindChoice, {"kind": kind, **keys}, source, f"{key}.")
        if choice is not None and (fault := problems.tried(nemesis, kind, key)) is not None:
            choices.append((key, choice, fault))
            parameters = problems.tried(_parameters, spec, choice, key, source)
            if allowed is not None:
                problems.tried(_check_choice, choice, key, fault, allowed)
                problems.tried(_check_on, spec, choice, (key, place), allowed)
                if parameters is not None:
                    problems.tried(_check_names, parameters, _prefix(choice, key), allowed)
                    if choice.on in allowed.targets.hosts or spec.on in allowed.targets.hosts:
                        problems.tried(_check_peers, choice.on or spec.on, parameters, _prefix(choice, key), fault)
                    problems.tried(_check_disk, parameters, (key, choice), fault, allowed)
    if spec.duration is not None and choices and not any(fault.lasts for _, _, fault in choices):
        problems.add(BadInput(f"{place}.for: {choices[0][1].kind} is instantaneous; remove `for:`"))
    problems.raise_any()


def late(spec: FaultSpec, number: int, length_ns: int) -> BadInput:
    """Return why a fault does not fit into the load, and the remedy."""
    end = format_duration(length_ns)
    if spec.to is None:
        return BadInput(f"faults.{number}: starts after the end of the load, {end}; increase workload.duration")
    until = format_duration(spec.to)
    remedy = f"set `to: {end}`, or workload.duration: {until}"
    return BadInput(f"faults.{number}.to: {until} is after the end of the load, {end}; {remedy}")


def without_zones(fault: PlannedFault, zones: Zones) -> PlannedFault:
    """Return a fault whose parameters name hosts instead of zones."""
    if not zones:
        return fault
    parameters = nemesis(fault.kind).parameters
    checked = parameters.model_validate(fault.parameters)
    named = {name: getattr(checked, name) for name, _ in _marked(parameters) if name in fault.parameters}
    resolved = {name: _expanded(value, zones) for name, value in named.items() if isinstance(value, list)}
    return replace(fault, parameters={**fault.parameters, **resolved})


def _kinds(spec: FaultSpec, place: str) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    """Yield each kind that a fault is drawn from with its key and its own keys."""
    for index, (kind, keys) in enumerate(spec.kinds()):
        where = f"{place}.inject" if isinstance(spec.inject, str) else f"{place}.inject.{index}"
        yield (f"{where}.{kind}" if keys else where), kind, keys


def _parameters(spec: FaultSpec, choice: KindChoice, key: str, source: str) -> BaseModel:
    known = [field.alias or name for name, field in FaultSpec.model_fields.items()]
    given, model = {**spec.own, **(choice.model_extra or {})}, nemesis(choice.kind).parameters
    own = {field.alias or name for name, field in model.model_fields.items()}
    if ("from" in given and "from" not in own) or ("every" in given and "every" not in own):
        raise BadInput(f"{_prefix(choice, key)[:-1]}: {ONE_KIND_OF_TIME}")
    if "within" in given and "within" not in model.model_fields:
        raise BadInput(f"{_prefix(choice, key)}within: is for after and when only; add one of them, or remove it")
    return validated(model, given, source, _prefix(choice, key), known)


def _prefix(choice: KindChoice, key: str) -> str:
    return f"{key}." if choice.model_extra else f"{key.partition('.inject')[0]}."


def _check_choice(choice: KindChoice, key: str, fault: Nemesis, allowed: Allowed) -> None:
    if allowed.drivers and fault.hits == "clients":
        raise BadInput(f"{key}: {choice.kind} hits clients of this machine, not those on drivers; remove one of them")
    if fault.moves_keys and allowed.fixed:
        raise BadInput(f"{key}: {choice.kind} has messages go to other partitions; {allowed.fixed}")
    if allowed.attached and fault.hits == "hosts" and fault.on_hosts:
        _check_hosts_of_others(f"{key}: {choice.kind}", fault, allowed)
    _check_powers(f"{key}: {choice.kind}", fault.host_powers, allowed.host_powers, "these hosts", allowed.missing)
    _check_powers(
        f"{key}: {choice.kind}", fault.service_powers, allowed.service_powers, "this cluster", allowed.missing
    )
    if choice.duration is not None and not fault.lasts:
        raise BadInput(f"{key}.for: {choice.kind} is instantaneous; remove `for:`")


def _check_hosts_of_others(what: str, fault: Nemesis, allowed: Allowed) -> None:
    if not allowed.inventory:
        raise BadInput(
            f"{what} works on hosts, and those of an existing cluster are unknown; add cluster.inventory, or "
            "use inject: command or a fault of clients"
        )
    if not fault.held:
        raise BadInput(
            f"{what} works in a local lab only, since other hosts could not undo it if chaoskit died, or cannot do it; "
            f"on hosts of an inventory use one of: {', '.join(taken_by_others())}"
        )


def _check_disk(parameters: BaseModel, at: tuple[str, KindChoice], fault: Nemesis, allowed: Allowed) -> None:
    """Reject a disk that the hosts do not have, or that cannot do what the fault needs."""
    if isinstance(parameters, OnDisk):
        (key, choice), disk = at, parameters.disk
        if allowed.attached and (not fault.held or not allowed.disk_powers):
            if fault.held and allowed.inventory:
                raise BadInput(
                    f"{key}: {choice.kind} needs a folder on the disk of each host: add data to the inventory"
                )
            return
        if disk not in allowed.disk_powers:
            names = nearest(disk, allowed.disk_powers)
            raise BadInput(f"{_prefix(choice, key)}disk: the hosts have no disk {disk!r}; {names}")
        who = f"disk {disk} of these hosts"
        _check_powers(f"{key}: {choice.kind}", fault.disk_powers, allowed.disk_powers[disk], who, allowed.missing)


def _check_powers(
    what: str, needed: Collection[type], offered: Collection[type], owner: str, missing: Mapping[type, str]
) -> None:
    for power in needed:
        if power not in offered:
            why = f": {missing[power]}" if power in missing else ""
            raise BadInput(f"{what} needs {words(power)}, which {owner} cannot do{why}")


def _check_on(spec: FaultSpec, choice: KindChoice, keys: tuple[str, str], allowed: Allowed) -> None:
    targets = allowed.targets
    on, key = (choice.on, f"{keys[0]}.on") if choice.on else (spec.on, f"{keys[1]}.on")
    if targets.hits_clients(choice.kind):
        check_targets(on, key, targets.clients, CLIENT_ROLES, [])
    else:
        check_targets(expand(as_list(on), targets.zones, key), key, targets.hosts, allowed.roles, allowed.partitions)


def _check_names(parameters: BaseModel, prefix: str, allowed: Allowed) -> None:
    """Reject names of hosts and roles in parameters that cannot exist."""
    for field, mark in _marked(type(parameters)):
        value = getattr(parameters, field)
        for name in _flat(value):
            key = f"{prefix}{field}"
            for target in expand([name], {} if isinstance(value, str) else allowed.targets.zones, key):
                _check_name(target, key, mark, allowed)


def _check_peers(on: Any, parameters: BaseModel, prefix: str, fault: Nemesis) -> None:
    """Reject a host that is its own other end."""
    if fault.on_links and [*fault.peers(parameters)] == [on]:
        raise BadInput(f"{prefix}peers: {on} is the target itself; name the other end, or remove it")


def _check_name(name: str, key: str, mark: HostNames, allowed: Allowed) -> None:
    known = [*allowed.targets.hosts, *allowed.roles, *mark.also]
    role, colon, partition = name.partition(":")
    if role not in known or (colon and role not in allowed.roles):
        raise BadInput(f"{key}: there is no host or role {name!r}; {nearest(name, known)}")
    if colon and partition not in allowed.partitions:
        raise BadInput(f"{key}: there is no partition {partition!r}; {nearest(partition, allowed.partitions)}")


def _marked(parameters: type[BaseModel]) -> Iterator[tuple[str, HostNames]]:
    for name, field in parameters.model_fields.items():
        yield from ((name, mark) for mark in field.metadata if isinstance(mark, HostNames))


def _flat(value: Any) -> list[str]:
    if isinstance(value, list):
        return [name for element in value for name in _flat(element)]
    return [] if value is None else [value]


def _expanded(value: list[Any], zones: Zones) -> list[Any]:
    """Return a list of names, or of lists of names, with zones replaced by their hosts."""
    if any(isinstance(element, list) for element in value):
        return [_expanded(element, zones) for element in value]
    return expand(value, zones, "")
