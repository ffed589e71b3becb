"""The declared configuration of a run as one readable line, used to compare runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

_CLUSTER = ("config", "topic", "persistence", "deduplication")


def configuration(scenario: Mapping[str, Any]) -> str:
    """Return system, version and the settings that determine durability.

    >>> configuration({"cluster": {"system": "kafka", "topic": {"min.insync.replicas": 2}},
    ...                "workload": {"producer": {"acks": "all"}}})
    'kafka, min.insync.replicas=2, acks=all'
    """
    cluster, workload = scenario.get("cluster") or {}, scenario.get("workload") or {}
    system = str(cluster.get("system", "imported"))
    version = f" {cluster['version']}" if cluster.get("version") else ""
    settings = [text for key in _CLUSTER if cluster.get(key) is not None for text in _flat(key, cluster[key])]
    settings += _flat("", workload.get("producer") or {})
    return ", ".join([f"{system}{version}", *settings])


def _flat(key: str, value: Any) -> Iterator[str]:
    if value is None:
        return
    if not isinstance(value, Mapping):
        yield f"{key}={str(value).lower() if isinstance(value, bool) else value}"
        return
    for name, inner in value.items():
        outer = "" if key in ("", *_CLUSTER) else f"{key}."
        yield from _flat(f"{outer}{name}", inner)
