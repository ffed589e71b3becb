"""OMB's workload files."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from chaoskit.base.quantities import format_duration, format_size
from chaoskit.contract.mistakes import validated
from chaoskit.contract.systems.benchmark import Driven

_KEYS = 10_000
_FLAT_OUT = 10_000_000
"""The rate of OMB's files that send as fast as they can."""

_DISK_MIN, _DISK_SHARE = 4 * 2**30, 2
"""Size of a lab's disks, and how many times a backlog they hold."""

_READY_WITHIN = "3m"
"""A dozen JVMs with production settings take a minute on two idle processors."""

_Count = Annotated[int, Field(ge=1)]


class OmbWorkload(BaseModel):
    """A workload file, by OMB's own names; unknown keys, which OMB ignores, are refused.

    Attributes:
        testDurationMinutes, warmupDurationMinutes: minutes; fractions are taken as written, while OMB cuts them off.
        consumerBacklogSizeGB: GiB of payload that wait for all subscriptions together; fractions as above.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    topics: _Count
    partitionsPerTopic: _Count  # noqa: N815 - OMB's names
    keyDistributor: Literal["NO_KEY", "KEY_ROUND_ROBIN", "RANDOM_NANO"] = "NO_KEY"  # noqa: N815
    messageSize: _Count  # noqa: N815
    useRandomizedPayloads: bool = False  # noqa: N815
    randomBytesRatio: float = 0  # noqa: N815
    randomizedPayloadPoolSize: int = 0  # noqa: N815
    payloadFile: str | None = None  # noqa: N815
    subscriptionsPerTopic: Annotated[int, Field(ge=0)] = 1  # noqa: N815
    producersPerTopic: _Count  # noqa: N815
    consumerPerSubscription: Annotated[int, Field(ge=0)] = 0  # noqa: N815
    producerRate: Annotated[int, Field(ge=0)]  # noqa: N815
    consumerBacklogSizeGB: Annotated[float, Field(ge=0)] = 0  # noqa: N815
    backlogDrainRatio: Annotated[float, Field(gt=0, le=1)] = 1.0  # noqa: N815
    testDurationMinutes: Annotated[float, Field(gt=0)]  # noqa: N815
    warmupDurationMinutes: Annotated[float, Field(ge=0)] = 1  # noqa: N815

    @property
    def consumers(self) -> int:
        """Number of consumers of all subscriptions."""
        return self.consumerPerSubscription * self.topics * self.subscriptionsPerTopic

    @property
    def backlog_bytes(self) -> int:
        """Size of the backlog, of all subscriptions together."""
        return int(self.consumerBacklogSizeGB * 2**30)

    @model_validator(mode="after")
    def _builds_a_backlog(self) -> Self:
        if self.consumerBacklogSizeGB and self.producerRate == 0:
            raise ValueError("consumerBacklogSizeGB needs a rate; set producerRate")
        if self.consumerBacklogSizeGB and not self.consumers:
            raise ValueError("consumerBacklogSizeGB needs consumers; set consumerPerSubscription")
        return self

    def load(self, warm_up_ns: int) -> dict[str, Any]:
        """Return the keys of the log workload that do this, after a warm-up."""
        grouped: dict[str, Any] = {}
        if self.consumers:
            grouped = {"consumption": "group", "groups": self.subscriptionsPerTopic}
        if self.backlog_bytes:
            after, drain = format_duration(warm_up_ns), self.backlogDrainRatio
            grouped["backlog"] = {"size": self.backlog_bytes, "after": after, "drain": drain}
        return {
            "kind": "log",
            "topics": self.topics,
            "partitions": self.partitionsPerTopic,
            "producers": self.producersPerTopic * self.topics,
            "consumers": self.consumers,
            **grouped,
            "rate": "max" if self.producerRate in (0, _FLAT_OUT) else self.producerRate,
            "message_size": self.messageSize,
            "keys": 0 if self.keyDistributor == "NO_KEY" else _KEYS,
        }

    def remarks(self) -> list[str]:
        """Return what is done otherwise than by OMB."""
        remarks = ["payloads are random, with a header that reveals loss, order and damage; payload files are not read"]
        if self.keyDistributor == "RANDOM_NANO":
            remarks.append("keyDistributor RANDOM_NANO: keys are used in turn")
        return remarks


def parse_workload(content: Mapping[str, Any], source: str) -> OmbWorkload:
    """Return a workload.

    Raises:
        BadInput: names the file, each wrong key and the remedy.
    """
    return validated(OmbWorkload, content, source, "")


def scenario_of(
    name: str,
    workload: OmbWorkload,
    system: str,
    driver: Driven,
    *,
    lab: bool,
    hosts: int,
    durations_ns: tuple[int, int],
) -> dict[str, Any]:
    """Return the scenario that does what workload and driver say.

    Args:
        name: name of the scenario.
        workload: the workload.
        system: the driver's system.
        driver: the driver.
        lab: whether to run on a local cluster instead of the driver's own.
        hosts: number of brokers.
        durations_ns: of the warm-up, and of what counts.
    """
    where = _lab(workload, driver) if lab else {"attach": dict(driver.attach)}
    return {
        "name": name,
        "cluster": {"system": system, **where, "hosts": hosts, **driver.cluster},
        "workload": {
            **workload.load(durations_ns[0]),
            **driver.workload,
            "duration": format_duration(sum(durations_ns)),
        },
    }


def _lab(workload: OmbWorkload, driver: Driven) -> dict[str, Any]:
    size = max(_DISK_MIN, _DISK_SHARE * workload.backlog_bytes)
    return {"disk": {"size": format_size(size)}, "ready_within": _READY_WITHIN, **driver.lab}
