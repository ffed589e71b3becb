"""The options of the pipeline workload."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from chaoskit.base.quantities import SECOND, Duration
from chaoskit.contract.options import Command
from chaoskit.contract.workloads.topic import DEAD
from chaoskit.load.partitioned import routes_over
from chaoskit.model.place import Place
from workloads.pipeline.identity import Identity
from workloads.pipeline.inputs import Payload
from workloads.pipeline.outputs import OutputCount
from workloads.pipeline.sinks.options import STDOUT, STORED, SinkOptions, check_kind
from workloads.pipeline.stored import StoredOptions

_FROZEN = ConfigDict(extra="forbid", frozen=True)

Promise = Literal["at-least-once", "exactly-once", "at-most-once"]


class SourceOptions(StoredOptions):
    """What the application reads: a topic, or a queue.

    Attributes:
        dead_letters: whether what is rejected, or returned too often, goes from the queue to another one.
    """

    dead_letters: bool = False

    @model_validator(mode="after")
    def _one(self) -> Self:
        check_kind(self, {"topic": frozenset({"partitions"}), "queue": frozenset({"type", "dead_letters"})})
        return self

    @property
    def settings(self) -> dict[str, int]:
        """What its queue is declared with."""
        return {"dead-letters": 1} if self.dead_letters else {}

    @property
    def dead_name(self) -> str:
        """The queue of its dead letters; empty: it has none."""
        return self.name + DEAD if self.dead_letters else ""


def _as_list(given: Any) -> Any:
    return [given] if isinstance(given, dict) else given


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
        writes: where the application writes: a topic, a queue, an HTTP endpoint, lines, rows, or several of them.
        rate: inputs per second.
        keys: number of distinct keys; 0: inputs have none.
        payload: what an input is.
        identity: where an output has the id of its input; default: the whole value is the id.
        outputs: how many outputs each input has in each of `writes`: a number, a range such as `0..1`, or a function.
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
    outputs: OutputCount = OutputCount()
    promise: Promise = "at-least-once"
    within: Annotated[Duration, Field(gt=0)] | None = None
    application: ApplicationOptions
    producer: dict[str, Any] = {}

    @model_validator(mode="after")
    def _makes_sense(self) -> Self:
        names = [self.reads.name, *(sink.name for sink in self.writes)]
        if len(set(names)) < len(names):
            raise ValueError(f"reads and writes name a topic twice: {', '.join(names)}")
        self._suits_its_sinks()
        return self

    def _suits_its_sinks(self) -> None:
        bare = [sink.name for sink in (*self.files, *self.rows)]
        if bare and (self.identity.key or self.identity.header):
            raise ValueError(f"identity: {bare[0]} has neither keys nor headers; use json, regex or python")
        if self.identity.key and self.endpoints:
            raise ValueError(f"identity: {self.endpoints[0].name} has no keys; use header, json, regex or python")
        if self.application.external and any(sink.lines == STDOUT for sink in self.files):
            raise ValueError("lines: stdout is that of instances that chaoskit starts; write run, or a file")
        if len(databases := [sink for sink in self.rows if sink.postgresql is not None]) > 1:
            raise ValueError(f"chaoskit runs one database; {databases[1].name} is of another one")
        if self.application.external and databases:
            raise ValueError("postgresql is reached from hosts of the lab only; write url, or run")

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
        return [sink for sink in self.writes if any(getattr(sink, kind) is not None for kind in STORED)]

    @property
    def endpoints(self) -> list[SinkOptions]:
        """The HTTP endpoints that it calls."""
        return [sink for sink in self.writes if sink.http is not None]

    @property
    def files(self) -> list[SinkOptions]:
        """The files whose lines it writes."""
        return [sink for sink in self.writes if sink.lines is not None]

    def writers(self, sink: SinkOptions) -> int:
        """Return how many instances write lines of their own: partitions of the sink."""
        return 1 if sink.shared else self.application.instances

    @property
    def rows(self) -> list[SinkOptions]:
        """The queries of databases that it writes."""
        return [sink for sink in self.writes if sink.sql is not None]

    @property
    def database(self) -> SinkOptions | None:
        """The sink whose database chaoskit runs."""
        return next((sink for sink in self.rows if sink.postgresql is not None), None)

    def routes(self) -> list[tuple[str, int, bytes | None]]:
        """Return topic, partition and key of successive inputs; see `routes_over`."""
        return routes_over([self.reads.name], self.reads.partitions, self.keys)
