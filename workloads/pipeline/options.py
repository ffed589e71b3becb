"""The options of the pipeline workload."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from chaoskit.base.quantities import SECOND, Duration
from chaoskit.contract.options import Command
from chaoskit.load.partitioned import copies_of, routes_over
from chaoskit.model.place import Place
from workloads.pipeline.identity import Identity
from workloads.pipeline.inputs import Payload

_FROZEN = ConfigDict(extra="forbid", frozen=True)

TopicName = Annotated[str, Field(pattern=r"^[A-Za-z0-9._-]+$")]
Promise = Literal["at-least-once", "exactly-once", "at-most-once"]


class SourceOptions(BaseModel):
    """What the application reads: a topic, or a queue.

    Attributes:
        topic, queue: its name; chaoskit makes it.
        partitions: number of partitions of a topic.
        type: the system's own type of a queue, such as `quorum`; default: the first that it has.
        replication: replicas of each partition, or members of a queue; default: 3, limited by the number of brokers.
    """

    model_config = _FROZEN

    topic: TopicName | None = None
    queue: TopicName | None = None
    partitions: int = Field(default=1, ge=1, le=10_000)
    type: str = ""
    replication: int | None = Field(default=None, ge=1)

    @model_validator(mode="after")
    def _one(self) -> Self:
        _check_kind(self, {"topic": {"partitions"}, "queue": {"type"}})
        return self

    @property
    def name(self) -> str:
        """Its name in the history."""
        return self.topic or self.queue or ""

    @property
    def places(self) -> list[Place]:
        """Its partitions."""
        return [(self.name, number) for number in range(self.partitions)]

    def copies(self, brokers: int) -> int:
        """Return how many replicas each partition has with so many brokers."""
        return copies_of(self.replication, brokers)


class Answering(BaseModel):
    """How an HTTP endpoint answers for a while.

    Attributes:
        start, to: from when until when, from the start of the load.
        do: `drop`: it takes the request and closes the connection without an answer; `refuse`: it answers with status
            500 and takes nothing; `slow`: it takes the request, and answers after `by`.
        by: how slow.
        every: only every so many requests.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)

    start: Duration = Field(alias="from")
    to: Duration
    do: Literal["drop", "refuse", "slow"]
    by: Duration = SECOND
    every: int = Field(default=1, ge=1)


class SinkOptions(BaseModel):
    """Where the application writes: a topic, a queue, or an HTTP endpoint that chaoskit serves.

    Attributes:
        topic, queue, partitions, type, replication: as of what it reads.
        http: the path of the endpoint; its URL is `{writes}`, or `{http}`.
        key: a header by which calls are made only once: a call with a value that was taken before counts as the same.
        answers: how the endpoint answers meanwhile, if not at once and with 200.
    """

    model_config = _FROZEN

    topic: TopicName | None = None
    queue: TopicName | None = None
    partitions: int = Field(default=1, ge=1, le=10_000)
    type: str = ""
    replication: int | None = Field(default=None, ge=1)
    http: Annotated[str, Field(pattern=r"^/[A-Za-z0-9._/-]*$")] | None = None
    key: str = ""
    answers: list[Answering] = []

    @model_validator(mode="after")
    def _one(self) -> Self:
        stored = {"topic": {"partitions", "replication"}, "queue": {"type", "replication"}}
        _check_kind(self, {**stored, "http": {"key", "answers"}})
        return self

    @property
    def name(self) -> str:
        """Its name in the history."""
        return self.topic or self.queue or f"http:{self.http}"

    @property
    def places(self) -> list[Place]:
        """Its partitions."""
        return [(self.name, number) for number in range(self.partitions)]

    def copies(self, brokers: int) -> int:
        """Return how many replicas each partition has with so many brokers."""
        return copies_of(self.replication, brokers)


_MEANT = {"topic": "topic", "queue": "queue", "http": "http: the path of an endpoint, such as /pay"}


def _check_kind(given: BaseModel, keys: Mapping[str, set[str]]) -> None:
    """Reject what is not of one kind, or has keys that are not of its kind; `keys` has those of each."""
    kinds = [kind for kind in keys if getattr(given, kind) is not None]
    if len(kinds) != 1:
        *first, last = (_MEANT[kind] for kind in keys)
        raise ValueError(f"write either {', '.join(first)}, or {last}")
    fields = type(given).model_fields
    for name in sorted(set().union(*keys.values()) - keys[kinds[0]]):
        if getattr(given, name) != fields[name].default:
            owner = next(kind for kind in keys if name in keys[kind])
            raise ValueError(f"{name} belongs to {owner if owner == 'http' else f'a {owner}'}; remove it")


def _as_list(given: Any) -> Any:
    return [given] if isinstance(given, dict) else given


def _as_bounds(given: Any) -> Any:
    if isinstance(given, int):
        return (given, given)
    if isinstance(given, str) and ".." in given:
        return tuple(given.split("..", 1))
    return given


class RestartOptions(BaseModel):
    """How an instance that ended is started again, as a supervisor would.

    Attributes:
        after: how long after its end.
    """

    model_config = _FROZEN

    after: Duration = SECOND


class ApplicationOptions(BaseModel):
    """The application.

    Attributes:
        run: the command of an instance.
        instances: how many, each on a host of its own.
        restart: when an instance that ended is started again; `never`: not at all.
        env: further environment variables.
        external: somebody else runs it.
        ready_within: how long it may take from the start of its instances until they own all partitions.
    """

    model_config = _FROZEN

    run: Command | None = None
    instances: int = Field(default=1, ge=1, le=100)
    restart: RestartOptions | Literal["never"] = RestartOptions()
    env: dict[str, str] = {}
    external: bool = False
    ready_within: Annotated[Duration, Field(gt=0)] = 60 * SECOND

    @model_validator(mode="after")
    def _runs(self) -> Self:
        if not self.external and self.run is None:
            raise ValueError("run is missing: the command that starts an instance; or set external: true")
        if self.external and self.run is not None:
            raise ValueError("external: true means that you run it; remove run, or external")
        return self


class PipelineOptions(BaseModel):
    """The options of this workload.

    Attributes:
        reads: the topic, or queue, that the application reads; chaoskit feeds it.
        writes: where the application writes: a topic, a queue, an HTTP endpoint, or several of them.
        rate: inputs per second.
        keys: number of distinct keys; 0: inputs have none.
        payload: what an input is.
        identity: where an output has the id of its input; default: the whole value is the id.
        outputs: how many outputs each input has in each of `writes`: a number, or a range such as `0..1`.
        promise: what the application claims.
        within: how long after an input its outputs may come.
        application: the application.
        producer: the system's own settings of the producer that feeds.
    """

    model_config = _FROZEN

    reads: SourceOptions
    writes: Annotated[list[SinkOptions], Field(min_length=1), BeforeValidator(_as_list)]
    rate: int = Field(default=100, ge=1, le=100_000)
    keys: int = Field(default=0, ge=0, lt=2**24)
    payload: Payload = Payload()
    identity: Identity = Identity()
    outputs: Annotated[tuple[int, int], BeforeValidator(_as_bounds)] = (1, 1)
    promise: Promise = "at-least-once"
    within: Annotated[Duration, Field(gt=0)] | None = None
    application: ApplicationOptions
    producer: dict[str, Any] = {}

    @model_validator(mode="after")
    def _makes_sense(self) -> Self:
        least, most = self.outputs
        if not 0 <= least <= most or not most:
            raise ValueError(f"outputs: {least}..{most} is no range of numbers of outputs, such as 1, or 0..1")
        names = [self.reads.name, *(sink.name for sink in self.writes)]
        if len(set(names)) < len(names):
            raise ValueError(f"reads and writes name a topic twice: {', '.join(names)}")
        return self

    @model_validator(mode="after")
    def _of_queues(self) -> Self:
        other = "topic" if self.queued else "queue"
        if any(getattr(sink, other) is not None for sink in self.writes):
            raise ValueError(f"reads and writes are both topics, or both queues; there is a {other} in writes")
        if self.queued and self.keys:
            raise ValueError("keys: messages of queues have none, and consumers share them in any order; remove it")
        if self.queued and self.identity.key:
            raise ValueError("identity: key: messages of queues have none; use header, such as header: message_id")
        if self.queued and self.application.external:
            raise ValueError(
                "application.external: what an application settles is read from its connections, on hosts of the lab; "
                "write run: the command that starts an instance"
            )
        return self

    @property
    def queued(self) -> bool:
        """Whether the application reads, and writes, queues."""
        return self.reads.queue is not None

    def all_partitions(self) -> list[Place]:
        """Return the partitions that are fed."""
        return self.reads.places

    @property
    def topics(self) -> list[SinkOptions]:
        """The topics, or queues, that the application writes."""
        return [sink for sink in self.writes if sink.http is None]

    @property
    def endpoints(self) -> list[SinkOptions]:
        """The HTTP endpoints that it calls."""
        return [sink for sink in self.writes if sink.http is not None]

    def routes(self) -> list[tuple[str, int, bytes | None]]:
        """Return topic, partition and key of successive inputs; see `routes_over`."""
        return routes_over([self.reads.name], self.reads.partitions, self.keys)
