"""The options of a domain, and the quality of service of its writers and readers."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from chaoskit.base.errors import BadInput, Problems
from chaoskit.base.quantities import MILLISECOND, SECOND, Duration, format_duration
from clusters.common.client_settings import checked
from clusters.common.release import installed

PACKAGE = "cyclonedds"
PEERS, DOMAIN, LEASE_NS, DISCOVERY = "peers", "domain", "lease_ns", "discovery"
"""What clients are told: the addresses of the hosts with peers; and the options."""


class CycloneOptions(BaseModel):
    """The options of a domain.

    Attributes:
        version: the release of Cyclone DDS: that of the installed package.
        domain: number of the domain.
        lease: how long a participant that is not heard counts as there (Cyclone's Discovery/LeaseDuration).
        discovery: how participants find each other. `peers`: each calls the hosts of the lab, one after the other, and
            nothing is sent by multicast.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    version: str = Field(default_factory=partial(installed, PACKAGE))
    domain: int = Field(default=0, ge=0, le=230)
    lease: Annotated[Duration, Field(ge=SECOND)] = 10 * SECOND
    discovery: Literal["multicast", "peers"] = "multicast"


class EndpointSettings(BaseModel):
    """The quality of service of writers, or readers: `workload.producer`, `workload.consumer`.

    Attributes:
        qos: its reliability.
        history: whether all samples are kept, until they were acknowledged and taken, or the last ones.
        depth: how many are the last ones.
        durability: whether a writer keeps samples for readers that come later.
        liveliness: who says that a writer is alive: the library, or the writer with each sample.
        liveliness_lease: after so long without a sign of life a reader is told that a writer is not alive; None: only
            when its participant counts as gone.
        deadline: a writer writes, and a reader gets, a sample at least so often; a reader that does not is told. None:
            there is no deadline.
        ownership: `exclusive`: a reader gets what the strongest writer that is alive has written. The first producer is
            the strongest, the last one the weakest.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    qos: Literal["best-effort", "reliable"] = "reliable"
    history: Literal["keep-all", "keep-last"] = "keep-all"
    depth: int = Field(default=1, ge=1)
    durability: Literal["volatile", "transient-local"] = "volatile"
    liveliness: Literal["automatic", "manual-by-topic"] = "automatic"
    liveliness_lease: Annotated[Duration, Field(ge=100 * MILLISECOND)] | None = None
    deadline: Annotated[Duration, Field(ge=10 * MILLISECOND)] | None = None
    ownership: Literal["shared", "exclusive"] = "shared"


class WriterSettings(EndpointSettings):
    """The quality of service of writers.

    Attributes:
        max_blocking: how long a write may wait for readers that lag behind.
        durability_service: what a transient-local writer keeps for readers that come later, besides what it keeps
            anyway: `default`: the last sample, as Cyclone does; `history`: as much as `history` and `depth` say.
        acks: when a send is acknowledged: `write`: the writer has taken the sample over; `readers`: all matched
            readers that are reliable have acknowledged it.
    """

    max_blocking: Duration = 100 * MILLISECOND
    durability_service: Literal["default", "history"] = "default"
    acks: Literal["write", "readers"] = "write"


def writer_settings(settings: Mapping[str, Any]) -> WriterSettings:
    """Return the settings of a producer.

    Raises:
        BadInput: names each that is wrong, below `workload.producer`.
    """
    return checked(WriterSettings, "producer", settings)


def reader_settings(settings: Mapping[str, Any]) -> EndpointSettings:
    """Return the settings of a consumer; see `writer_settings`."""
    return checked(EndpointSettings, "consumer", settings)


def check_offered(writer: EndpointSettings, reader: EndpointSettings) -> None:
    """Reject what never matches: a reader requests what a writer must offer.

    Raises:
        BadInput: names the key and the remedy.
    """
    problems = Problems()
    if reader.qos == "reliable" and writer.qos != "reliable":
        problems.add(BadInput("workload.consumer.qos: reliable is not offered; set producer: {qos: reliable}, too"))
    if reader.durability == "transient-local" and writer.durability != "transient-local":
        problems.add(
            BadInput(
                "workload.consumer.durability: transient-local is not offered; set producer: "
                "{durability: transient-local}, too"
            )
        )
    if reader.liveliness == "manual-by-topic" and writer.liveliness != "manual-by-topic":
        problems.add(
            BadInput(
                "workload.consumer.liveliness: manual-by-topic is not offered; set producer: "
                "{liveliness: manual-by-topic}, too"
            )
        )
    for key in ("liveliness_lease", "deadline"):
        offered, requested = getattr(writer, key), getattr(reader, key)
        if requested is not None and (offered is None or offered > requested):
            duration = format_duration(requested)
            problems.add(
                BadInput(f"workload.consumer.{key}: {duration} is not offered; set producer.{key} to that, or less")
            )
    if reader.ownership != writer.ownership:
        problems.add(BadInput("workload.consumer.ownership: another one than that of the producers; set the same"))
    problems.raise_any()
