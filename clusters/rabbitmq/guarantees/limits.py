"""What a queue of RabbitMQ may drop by itself: arguments, policies, and the defaults of the release.

Sources: RabbitMQ documentation, Policies (where an argument and a policy set the same number, the lower one counts);
release notes of 4.0 (quorum queues have a delivery limit of 20 unless another one is set) and of 4.3 (a message that a
consumer returns does not count towards it).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from chaoskit.base.errors import BadInput, Problems
from chaoskit.contract.guarantees.guarantee import Declared
from chaoskit.contract.workloads.datamodel import QUEUE
from chaoskit.contract.workloads.topic import Topic
from clusters.rabbitmq.queues import QUORUM
from clusters.rabbitmq.releases import parse_version
from clusters.rabbitmq.settings import RabbitOptions

LIMITS = ("message-ttl", "max-length", "delivery-limit")
"""The numbers by which a queue drops messages; policies have them under the same names."""

_HARMLESS = (
    "ha-mode", "ha-params", "ha-sync-mode", "ha-sync-batch-size", "ha-promote-on-shutdown", "ha-promote-on-failure",
    "queue-master-locator", "queue-leader-locator", "queue-mode", "queue-version", "max-in-memory-length",
    "max-in-memory-bytes", "target-group-size",
)  # fmt: skip
"""Keys of policies that say where messages are, not whether they are kept."""

_OPERATOR = "default_policies."
_LIMITED_SINCE, _LIMIT = (4, 0), 20
NACKS_FREE_SINCE = (4, 3)


def imposed(options: RabbitOptions, topic: Topic) -> dict[str, int]:
    """Return what limits a queue besides what the workload declared, with names of `QUEUE_SETTINGS`."""
    if topic.model is not QUEUE or "unrouted" in dict(topic.settings):
        return {}
    declared = dict(topic.settings)
    limits = {name: int(options.policy[name]) for name in LIMITS if name in options.policy}
    version = parse_version(options.version)
    quorum = topic.kind == QUORUM
    if not quorum:
        limits.pop("delivery-limit", None)
    elif version >= _LIMITED_SINCE and "delivery-limit" not in limits.keys() | declared.keys():
        limits["delivery-limit"] = _LIMIT
    lowest = {name: min(number, declared.get(name, number)) for name, number in limits.items()}
    return lowest | ({"nacks-free": 1} if quorum and version >= NACKS_FREE_SINCE else {})


def limits(declared: Declared) -> list[str]:
    """Return all numbers by which queues of the workload may drop messages, in words."""
    options, words = declared.options, []
    for topic in declared.topics:
        known = {**dict(topic.settings), **imposed(options, topic)}
        words += [f"{name} {known[name]}" for name in LIMITS if name in known]
    return list(dict.fromkeys(words))


def check_policy(policy: Mapping[str, Any], config: Mapping[str, Any]) -> None:
    """Reject policies that drop or keep messages in a way that is not judged.

    Raises:
        BadInput: names each key.
    """
    problems = Problems()
    for key in policy:
        if key not in (*LIMITS, *_HARMLESS):
            problems.add(BadInput(f"cluster.policy.{key}: what it does to messages is not judged; remove it"))
    for name in policy.keys() & set(LIMITS):
        if not isinstance(policy[name], int) or policy[name] < 0:
            problems.add(BadInput(f"cluster.policy.{name}: write a whole number, not {policy[name]!r}"))
    for key in config:
        if key.startswith(_OPERATOR):
            problems.add(BadInput(f"cluster.config.{key}: operator policies are not judged; use cluster.policy"))
    problems.raise_any()


def check_effective(topic: Topic, info: Mapping[str, Any]) -> None:
    """Reject a queue on which somebody's policy sets what the workload did not declare.

    Args:
        topic: the queue.
        info: what a node tells about it.

    Raises:
        BadInput: names the key and the policies.
    """
    declared, problems = dict(topic.settings), Problems()
    names = " and ".join(filter(None, (info.get("policy"), info.get("operator_policy"))))
    effective: Mapping[str, Any] = info.get("effective_policy_definition") or {}
    for key, value in effective.items():
        if key in _HARMLESS or declared.get(key) == value:
            continue
        remedy = f"declare workload.{_OPTIONS[key]} with the same value" if key in LIMITS else "it is not judged"
        problems.add(
            BadInput(
                f"cluster.attach: policy {names or '?'} sets {key}: {value} on queue {topic.name}; {remedy}, or have "
                "the policy leave out the prefix"
            )
        )
    problems.raise_any()


_OPTIONS = {"message-ttl": "ttl", "max-length": "max_length", "delivery-limit": "delivery_limit"}
"""The option of the workload for each limit."""
