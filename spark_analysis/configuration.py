"""The declared configuration of a run as one readable line, used to compare runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from pydantic import ValidationError

from chaoskit.base.errors import BadInput
from chaoskit.contract import installed
from chaoskit.report.words import release
from chaoskit.scenario.model import LOCAL, ClusterSpec

_ELSEWHERE = {"system", "version", "kind", "type", "duration", "attach", "inventory", "prefix"}
"""What is told before the settings, or says neither what the system keeps nor how it is loaded."""

_PLAIN = ("config", "topic", "persistence", "deduplication", "namespace", "policy", "producer", "consumer")
"""Mappings of settings that have names of their own."""


def settings(scenario: Mapping[str, Any]) -> str:
    """Return what the scenario declares of its cluster and load beside the system, without what is the default anyway.

    >>> settings({"cluster": {"system": "mine", "hosts": 3, "topic": {"min.insync.replicas": 2}},
    ...           "workload": {"kind": "log", "rate": 50, "producer": {"acks": "all"}}})
    'log, min.insync.replicas=2, rate=50, acks=all'
    >>> settings({"cluster": {"system": "mine", "topic": {"a": 1}, "config": {"a": 2}}})
    'topic.a=1, config.a=2'
    """
    cluster, workload = scenario.get("cluster") or {}, scenario.get("workload") or {}
    keeps = " ".join(str(workload[key]) for key in ("type", "kind") if workload.get(key))
    usual = {**_usual_cluster(cluster), **_usual("workload", workload.get("kind", ""))}
    declared = [
        setting
        for given in (cluster, workload)
        for key, value in given.items()
        if key not in _ELSEWHERE
        for setting in _flat(key, value, usual.get(key))
    ]
    times = Counter(name for _, name, _ in declared)
    named = [f"{name if times[name] == 1 else f'{of}.{name}'}={value}" for of, name, value in declared]
    return ", ".join([*([keeps] if keeps else []), *named])


def configuration(scenario: Mapping[str, Any]) -> str:
    """Return the system, its release and the settings.

    >>> configuration({"cluster": {"system": "mine"}, "workload": {"kind": "queue", "type": "quorum"}})
    'mine, quorum queue'
    """
    return ", ".join(part for part in (release(scenario), settings(scenario)) if part)


def _usual_cluster(cluster: Mapping[str, Any]) -> dict[str, Any]:
    """Return the defaults of a cluster like this one; of its disk, those of its kind of disk and with its seed."""
    disk, hosts = cluster.get("disk") or {}, cluster.get("provider", LOCAL)
    of_kind = _usual("provider", hosts, kind=disk.get("kind"))
    return {
        **ClusterSpec(system="").model_dump(mode="json"),
        **_usual("system", cluster.get("system", "")),
        "disk": {**of_kind, "kind": _usual("provider", hosts).get("kind"), "seed": disk.get("seed")},
    }


@cache
def _usual(what: str, name: str, **given: Any) -> dict[str, Any]:
    """Return the defaults of a plug-in's options; nothing if it is not installed, or has none of all its options."""
    try:
        options: Any = getattr(installed, what)(name, what).options
        named = {key: value for key, value in given.items() if value is not None}
        return dict(options.model_validate(named).model_dump(mode="json"))
    except (BadInput, ValidationError):
        return {}


def _flat(key: str, value: Any, usual: Any, of: str = "workload") -> Iterator[tuple[str, str, str]]:
    """Yield settings that are not as usual: whose they are, their names, and their values."""
    if value is None or value == usual:
        return
    if not isinstance(value, Mapping):
        yield of, key, str(value).lower() if isinstance(value, bool) else str(value)
        return
    for name, inner in value.items():
        usually = usual.get(name) if isinstance(usual, Mapping) else None
        plain = key in _PLAIN
        yield from _flat(name if plain else f"{key}.{name}", inner, usually, key if plain else of)
