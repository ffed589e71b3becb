"""The parameters of a synthetic history."""

from __future__ import annotations

import re
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from chaoskit.base.errors import BadInput

_UNITS = {"": 1, "k": 1_000, "M": 1_000_000, "G": 1_000_000_000, "B": 1_000_000_000}


def parse_count(given: object) -> int:
    """Parse a number with an optional unit.

    >>> parse_count("1.5M")
    1500000

    Raises:
        ValueError: it is not such a number.
    """
    if isinstance(given, int):
        return given
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([kMGB]?)", str(given))
    if match is None:
        raise ValueError(f"{given!r} is not a number; write 5000, 100k, 1M or 1G")
    return round(float(match[1]) * _UNITS[match[2]])


class Parameters(BaseModel):
    """Parameters of a synthetic history.

    Attributes:
        mode: `log`: consumers have assigned partitions; `group`: they are members of one consumer group;
            `transactions`: producers are transactional; `ledgers`: each partition is a ledger; `queue`: each
            partition is a queue.
        seed: the same parameters and seed give the same history.
        messages: number of rows of messages. Each message is sent once, received by a consumer, and received by the
            final read. Rounded to whole slots.
        transactions: number of transactions in mode `transactions`, which determines `messages`.
        topics: number of topics, named `log-0`, `log-1`, ...
        partitions: number of partitions per topic.
        producers, consumers: number of producers and consumers.
        keys: number of distinct keys; 0: none.
        rate: sends per second of all producers together.
        batch: number of messages that a poll of the final read returns.
        skew: fraction of all messages in partition 0 of the first topic; default: equal fractions.
        faults: number of fault windows.
        crashes: number of consumer crashes (log) or of rebalances (group).
        errors: fraction of sends that fail or have an unknown outcome; far higher during a fault.
        inject: number of anomalies of each cause.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    mode: Literal["log", "group", "transactions", "ledgers", "queue"] = "log"
    seed: int = Field(default=0, ge=0, lt=2**63)
    messages: int = Field(default=100_000, ge=1, le=10**11)
    transactions: int = Field(default=10_000, ge=1, le=20_000_000)
    topics: int = Field(default=1, ge=1, le=10_000)
    partitions: int = Field(default=4, ge=1, le=100_000)
    producers: int = Field(default=4, ge=1, lt=2**20)
    consumers: int = Field(default=2, ge=1, le=10_000)
    keys: int = Field(default=0, ge=0, le=10_000_000)
    rate: int = Field(default=20_000, ge=1, le=10_000_000)
    batch: int = Field(default=500, ge=1, le=1_000_000)
    skew: float | None = Field(default=None, gt=0, lt=1)
    faults: int = Field(default=2, ge=0, le=1_000)
    crashes: int = Field(default=4, ge=0, le=1_000)
    errors: float = Field(default=0.001, ge=0, le=0.2)
    inject: dict[str, int] = {}

    @field_validator("messages", "transactions", mode="before")
    @classmethod
    def _counted(cls, given: object) -> int:
        return parse_count(given)

    @model_validator(mode="after")
    def _consistent(self) -> Parameters:
        if self.skew is not None and self.places == 1:
            raise ValueError("skew: requires more than one partition")
        return self

    @property
    def places(self) -> int:
        """Number of partitions of all topics."""
        return self.topics * self.partitions

    def place(self, index: int) -> tuple[str, int]:
        """Return topic and partition for a partition's number across all topics."""
        return f"log-{index // self.partitions}", index % self.partitions


def make_parameters(given: dict[str, Any]) -> Parameters:
    """Validate parameters.

    Raises:
        BadInput: a parameter is unknown or out of range; the message names its option.
    """
    try:
        return Parameters.model_validate(given)
    except ValueError as error:
        details = error.errors() if hasattr(error, "errors") else []
        said = "; ".join(
            (f"--{detail['loc'][0]}: " if detail["loc"] else "") + str(detail["msg"]).removeprefix("Value error, ")
            for detail in details
        )
        raise BadInput(f"synthesize: {said or error}; `chaoskit synthesize --help` shows the options") from error
