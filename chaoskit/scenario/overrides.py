"""Changes of a scenario on the command line: `--with cluster.topic.min.insync.replicas=2`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from chaoskit.base import yaml
from chaoskit.base.errors import BadInput
from chaoskit.scenario.model import merge

_SECTIONS = frozenset(
    ["cluster", "workload", "expect", "topic", "config", "producer", "consumer", "policy", "persistence", "disk"]
)
"""Keys whose values are mappings, also where a scenario does not have them; what follows is a key there, dots included:
settings have dots in their names."""


def overridden(content: Mapping[str, Any], changes: Iterable[str]) -> dict[str, Any]:
    """Return a scenario with some changes, such as `workload.rate=5000`.

    Args:
        content: its keys.
        changes: each a key with dots, and a value in YAML; a mapping is merged, null removes what there is.

    Raises:
        BadInput: one has no `=`, or its value is no YAML.
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
        changed = merge(changed, _nested(changed, key, value))
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
