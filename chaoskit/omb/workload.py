"""OMB's workload files."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from chaoskit.base.errors import BadInput
from chaoskit.base.quantities import format_duration
from chaoskit.contract.benchmark import Driven
from chaoskit.scenario.mistakes import validated

_KEYS = 10_000
_FLAT_OUT = 10_000_000
"""The rate of OMB's files that send as fast as they can."""

_Count = Annotated[int, Field(ge=1)]


class OmbWorkload(BaseModel):
    """A workload file, by OMB's own names; unknown keys, which OMB ignores, are refused.

    Attributes:
        testDurationMinutes, warmupDurationMinutes: minutes; fractions are taken as written, while OMB cuts them off.
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
    consumerBacklogSizeGB: int = 0  # noqa: N815
    backlogDrainRatio: float = 1.0  # noqa: N815
    testDurationMinutes: Annotated[float, Field(gt=0)]  # noqa: N815
    warmupDurationMinutes: Annotated[float, Field(ge=0)] = 1  # noqa: N815

    @property
    def load(self) -> dict[str, Any]:
        """The keys of the log workload that do this."""
        consumers = self.consumerPerSubscription * self.topics if self.subscriptionsPerTopic else 0
        return {
            "kind": "log",
            "topics": self.topics,
            "partitions": self.partitionsPerTopic,
            "producers": self.producersPerTopic * self.topics,
            "consumers": consumers,
            "consumption": "group" if consumers else "assigned",
            "rate": "max" if self.producerRate in (0, _FLAT_OUT) else self.producerRate,
            "message_size": self.messageSize,
            "keys": 0 if self.keyDistributor == "NO_KEY" else _KEYS,
        }

    def remarks(self) -> list[str]:
        """Return what is done otherwise than by OMB."""
        told = ["payloads are random, with a header that tells loss, order and damage: no payload file is read"]
        if self.keyDistributor == "RANDOM_NANO":
            told.append("keyDistributor RANDOM_NANO: keys take turns")
        return told


def parse_workload(content: Mapping[str, Any], source: str) -> OmbWorkload:
    """Return a workload.

    Raises:
        BadInput: names the file, each wrong key and the remedy.
    """
    found = validated(OmbWorkload, content, source, "")
    if found.consumerBacklogSizeGB:
        raise BadInput(f"{source}: consumerBacklogSizeGB: backlogs are not supported yet; use another workload")
    if found.subscriptionsPerTopic > 1:
        raise BadInput(f"{source}: subscriptionsPerTopic: one subscription of each topic is supported so far; write 1")
    return found


def scenario_of(
    name: str, workload: OmbWorkload, system: str, driver: Driven, *, lab: bool, hosts: int, lasts_ns: int
) -> dict[str, Any]:
    """Return the scenario that does what workload and driver say.

    Args:
        name: name of the scenario.
        workload: the workload.
        system: the driver's system.
        driver: the driver.
        lab: whether to run on a local cluster instead of the driver's own.
        hosts: number of brokers.
        lasts_ns: duration of the load.
    """
    where = dict(driver.lab) if lab else {"attach": dict(driver.attach)}
    return {
        "name": name,
        "cluster": {"system": system, **where, "hosts": hosts, **driver.cluster},
        "workload": {**workload.load, **driver.workload, "duration": format_duration(lasts_ns)},
    }
