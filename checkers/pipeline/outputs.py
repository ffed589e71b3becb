"""What became of the outputs of a pipeline: written to a sink, seen, gone, taken by a fault."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from chaoskit.base.columns import Ints
from chaoskit.model.observations.pipeline import UNIDENTIFIED


@dataclass(frozen=True, slots=True)
class Sink:
    """What was written to one topic, or endpoint.

    Attributes:
        topic: its name.
        least, most: of each input, how many outputs it must have.
        ordered: whether positions tell which output came first.
        value: of each output, the value of its input.
        partition, position: where it is.
        at_ns: when it was first read.
        op: the operation that read it.
        input: index of its input; `NONE`: it has none.
        received, possible: of each input, how many outputs were surely received, and how many there may be; see
            `checkers.pipeline.redelivered`.
    """

    topic: str
    least: Ints
    most: Ints
    ordered: bool
    value: Ints
    partition: Ints
    position: Ints
    at_ns: Ints
    op: Ints
    input: Ints
    received: Ints
    possible: Ints

    @property
    def unattributed(self) -> bool:
        """Whether there are outputs, none of which has an input's id."""
        return self.value.size > 0 and bool((self.value == UNIDENTIFIED).all())


class SeenOutput(NamedTuple):
    """An output that is there.

    Attributes:
        topic: the sink.
        since_ns: when it was usually not there yet; see `Looks.before`; `seen_ns` if nobody had looked before.
        seen_ns: when it was first read.
    """

    topic: str
    since_ns: int
    seen_ns: int


class GoneOutput(NamedTuple):
    """An output that is there no more.

    Attributes:
        seen_ns: when it was first read.
        missed_ns: when it was first missed.
    """

    seen_ns: int
    missed_ns: int


class DatabaseCut(NamedTuple):
    """A fault that took from the database of a sink what it had not flushed.

    Attributes:
        topic: the sink.
        at_ns: when it began.
        done_ns: when it had taken what it took.
        forgets: whether, by its settings, that is also what the database had committed.
        words: fault, host and setting.
    """

    topic: str
    at_ns: int
    done_ns: int
    forgets: bool
    words: str
