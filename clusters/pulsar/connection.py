"""What all of Pulsar's clients share: how they connect, and how settings of a scenario become the library's."""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from typing import Any

import pulsar

from chaoskit.base.errors import BadInput, Problems, nearest
from clusters.pulsar.clients.settings import NAMESPACE
from clusters.pulsar.deploy.admin import partition_name
from clusters.pulsar.settings import TOPICS

_SUBSCRIPTION = "chaoskit"

CONNECTION_DEFAULTS = {"operation_timeout_seconds": 10, "connection_timeout_ms": 2000, "stats_interval_in_seconds": 0}
"""For every client: no statistics, and operations that end soon, since the workload tries them again."""

_CLOSE_SOON_S = 0.5


def connect(connection: Mapping[str, Any], **settings: Any) -> pulsar.Client:
    """Return a client of the cluster, with further settings of its own.

    It says nothing: standard output is the worker's link to the harness.
    """
    silent = pulsar.FileLogger(pulsar.LoggerLevel.Error, "/dev/null")
    return pulsar.Client(connection["service_url"], logger=silent, **{**CONNECTION_DEFAULTS, **settings})


def subscription(connection: Mapping[str, Any], group: int = 0) -> str:
    """Return the name of the subscription that the consumers of a trial's group share."""
    return f"{connection[NAMESPACE]}{_SUBSCRIPTION}{f'-{group}' if group else ''}"


def close_soon(client: pulsar.Client) -> None:
    """Close a client without waiting for long.

    What is pending is failed at once; the rest of the close may take as long as an operation may, in a thread. Not
    `shutdown`: it keeps Python's lock while it waits for a thread of the client that may want it for a callback, some
    30 s.
    """

    def close() -> None:
        with suppress(pulsar.PulsarException):
            client.close()

    closing = threading.Thread(target=close, daemon=True)
    closing.start()
    closing.join(_CLOSE_SOON_S)


def full_name(topic: str, partition: int) -> str:
    """Return the name of one partition of a workload's topic."""
    return f"persistent://{TOPICS}/{partition_name(topic, partition)}"


def library_settings(
    given: Mapping[str, Any], call: Callable[..., Any], ours: Collection[str], role: str
) -> dict[str, Any]:
    """Return settings as a function of pulsar-client takes them: enumerations are written by their names.

    Args:
        given: by the names of the function's parameters.
        call: the function.
        ours: parameters that scenarios do not set.
        role: `producer` or `consumer`, for errors.

    Raises:
        BadInput: it has no such parameter, or a value is of no use.
    """
    parameters = inspect.signature(call).parameters
    known = [name for name in parameters if name not in ours and name != "self"]
    result, problems = {}, Problems()
    for name, value in given.items():
        if name in known:
            result[name] = problems.tried(_value, parameters[name].default, value, f"workload.{role}.{name}")
        else:
            why = f"pulsar-client has no such setting; {nearest(name, known)}"
            problems.add(BadInput(f"workload.{role}.{name}: {why}"))
    problems.raise_any()
    return result


def _value(default: Any, value: Any, key: str) -> Any:
    if type(default) in (int, bool) and type(value) is not type(default):
        kind = "true or false" if isinstance(default, bool) else "a whole number"
        raise BadInput(f"{key}: write {kind} (given: {value!r})")
    members: Mapping[str, Any] | None = getattr(type(default), "__members__", None)
    if members is None or not isinstance(value, str):
        return value
    if value not in members:
        raise BadInput(f"{key}: there is no {value!r}; {nearest(value, list(members))}")
    return members[value]


def name_of(error: BaseException) -> str:
    """Return the library's name of an error that it raised."""
    return type(error).__name__
