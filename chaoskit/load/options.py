"""Options shared by several workloads."""

from __future__ import annotations

from abc import abstractmethod
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from chaoskit.base.quantities import SizeOrBytes
from chaoskit.model import payload
from chaoskit.model.place import Place

MessageSize = Annotated[SizeOrBytes, Field(ge=payload.SIZE_MIN, le=2**30)]
"""Size of each payload."""


def _rate(given: object) -> object:
    if given == "max" or (isinstance(given, int) and not isinstance(given, bool) and given >= 1):
        return given
    raise ValueError("write a number of sends per second, such as 2000, or max")


Rate = Annotated[int | Literal["max"], BeforeValidator(_rate)]
"""Sends per second of all producers together, or the maximum."""


class LoadOptions(BaseModel):
    """The options of workloads whose producers send to topics.

    Attributes:
        producers: number of producer processes.
        consumers: number of consumer processes.
        rate: sends per second of all producers together, or `max`.
        message_size: size of each payload.
        in_flight: maximum number of sends in flight per producer.
        producer: the system's own producer settings.
        consumer: the system's own consumer settings.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    producers: int = Field(default=1, ge=1, lt=2**20)
    consumers: int = Field(default=1, ge=0, lt=2**20)
    rate: Rate = 5000
    message_size: MessageSize = 100
    in_flight: int = Field(default=20_000, ge=1)
    producer: dict[str, Any] = {}
    consumer: dict[str, Any] = {}

    @abstractmethod
    def all_partitions(self) -> list[Place]:
        """Return every (topic, partition)."""

    @abstractmethod
    def routes(self) -> list[tuple[str, int, bytes | None]]:
        """Return topic, partition and key of successive messages."""


def per_second(rate: int | str) -> int | None:
    """Return the number of sends per second; None at the maximum rate."""
    return None if isinstance(rate, str) else rate
