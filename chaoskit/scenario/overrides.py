"""Changes of a scenario on the command line: `--with cluster.topic.min.insync.replicas=2`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from chaoskit.base import yaml
from chaoskit.base.errors import BadInput
from chaoskit.scenario.model import merge

_SECTIONS = frozenset(
    ["cluster", "workload", "expect", "topic", "config", "producer", "consumer", "policy", "persistence", "disk"]
)
"""Keys whose values are mappings, also where a scenario does not have them; what follows is a key there, dots included:
settings have dots in their names."""

_FAULTS = "faults."


def overridden(content: Mapping[str, Any], changes: Iterable[str]) -> dict[str, Any]:
    """Return a scenario with some changes, such as `workload.rate=5000`.

    Args:
        content: its keys.
        changes: each a key with dots, and a value in YAML; a mapping is merged, null removes what there is. A fault is
            named by its number, from 0, or by its `id`: `faults.0.for=20s`.

    Raises:
        BadInput: one has no `=`, its value is no YAML, or there is no such fault.
    """
    changed = dict(content)
    for change in changes:
        key, equals, text = change.partition("=")
        if not equals or not key:
            raise BadInput(f"--with {change}: write KEY=VALUE, such as cluster.topic.min.insync.replicas=2")
        try:
            value = yaml.load(text)
        except yaml.NotYaml as error:
            raise BadInput(f"--with {change}: the value is not YAML: {error}") from None
        if key.startswith(_FAULTS):
            changed["faults"] = _other_fault(changed.get("faults") or [], key, value, change)
        else:
            changed = merge(changed, _nested(changed, key, value))
    return changed


def _other_fault(faults: Sequence[Any], key: str, value: Any, change: str) -> list[Any]:
    """Return the faults, one of them with a value at a key."""
    name, _, rest = key.removeprefix(_FAULTS).partition(".")
    ids = {fault.get("id"): number for number, fault in enumerate(faults) if isinstance(fault, Mapping)}
    known = {**{str(number): number for number in range(len(faults))}, **{id_: at for id_, at in ids.items() if id_}}
    if not known:
        raise BadInput(f"--with {change}: the scenario has no faults")
    if name not in known or not rest or not isinstance(faults[known[name]], Mapping):
        raise BadInput(f"--with {change}: write faults.NUMBER.KEY or faults.ID.KEY; the faults are {', '.join(known)}")
    changed = list(faults)
    fault = changed[known[name]]
    changed[known[name]] = merge(fault, _nested(fault, rest, value))
    return changed


def _nested(content: Mapping[str, Any], key: str, value: Any) -> dict[str, Any]:
    """Return a mapping with a value at a key.

    >>> _nested({"cluster": {"topic": {"a.b": 1}}}, "cluster.topic.a.b", 2)
    {'cluster': {'topic': {'a.b': 2}}}
    >>> _nested({}, "cluster.config.log.flush.interval.messages", 1)
    {'cluster': {'config': {'log.flush.interval.messages': 1}}}
    """
    if key in content:
        return {key: value}
    first, _, rest = key.partition(".")
    inner = content.get(first)
    if rest and (isinstance(inner, Mapping) or first in _SECTIONS):
        return {first: _nested(inner if isinstance(inner, Mapping) else {}, rest, value)}
    return {key: value}
