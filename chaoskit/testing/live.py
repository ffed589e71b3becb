"""A live cluster in a test: its endpoints, its topics, faults when the test says so, and a verdict."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypedDict, TypeVar

from chaoskit.base.errors import BadInput, ChaoskitError
from chaoskit.base.quantities import parse_duration
from chaoskit.contract.clients.application import ApplicationClients, ReadRecord
from chaoskit.contract.clients.client import LogClients
from chaoskit.contract.installed import nemesis
from chaoskit.contract.workloads.topic import Topic
from chaoskit.report.junit import run_properties
from chaoskit.run.live.clients import Feeding, FeedResult, LiveDrain, numbered, require
from chaoskit.run.live.faults import LiveFault
from chaoskit.run.live.history import Id, LiveHistory
from chaoskit.run.live.lease import Lease
from chaoskit.scenario.typed import Expect
from chaoskit.testing.result import Run
from chaoskit.testing.showing import PlainErrors

_Entered = TypeVar("_Entered")
_OWN_CLIENT = "use a client of your own, and history"


class LiveKeys(TypedDict, total=False):
    """How a live cluster is to be, besides the keys of `cluster`.

    Attributes:
        name: first part of the run folder's path.
        seed: draws targets; by default a random one.
        recovery: how long recovering may take, such as `60s`.
        producer, consumer: settings of your clients, in the system's own terms, as far as they are not its defaults:
            the verdict depends on them.
        faults: kinds of faults for which hosts must be prepared before the system starts, such as `wire`.
        expect: what must be found and what not, as in a scenario: with `{"lost": "none"}` a loss is not valid either
            that the settings allow.
    """

    name: str
    seed: int
    recovery: str
    producer: Mapping[str, Any]
    consumer: Mapping[str, Any]
    faults: Sequence[str]
    expect: Expect


async def _entered(enter: Callable[[], _Entered], leave: Callable[[], object]) -> _Entered:
    """Enter a block in another thread; if that is cancelled, leave it."""
    entering = asyncio.ensure_future(asyncio.to_thread(enter))
    try:
        return await asyncio.shield(entering)
    except asyncio.CancelledError:
        with suppress(Exception):
            await entering
            await asyncio.to_thread(leave)
        raise


def _raised(close: Callable[[], object], error: BaseException | None) -> None:
    """Do something at the end of a block; if the block raised, what this raises is added to that as a note."""
    __tracebackhide__ = True
    try:
        with PlainErrors():
            close()
    except ChaoskitError as failure:
        if error is None:
            raise
        error.add_note(f"{type(failure).__name__}: {failure}")


class BlockFault:
    """A fault on a live cluster; as a block, it begins, proved, with it, and is healed, proved, at its end."""

    def __init__(self, lease: Lease, kind: str, on: str | Sequence[str], keys: Mapping[str, Any]) -> None:
        self._lease = lease
        self._asked = kind, on, keys
        self._fault: LiveFault | None = None

    @property
    def targets(self) -> tuple[str, ...]:
        """The names of the hosts that it hit; empty before it began."""
        return self._fault.targets if self._fault else ()

    @property
    def evidence(self) -> str:
        """What was measured so far; empty before it began."""
        return self._fault.evidence if self._fault else ""

    def begin(self) -> None:
        """Inject it, and wait until its effect is proved.

        Raises:
            BadInput: it cannot be injected here, or began before.
            FaultError: it had no effect.
        """
        __tracebackhide__ = True
        with PlainErrors():
            if self._fault is not None:
                raise BadInput(f"fault {self._asked[0]!r}: it began before; make another one")
            self._fault = self._lease.trial.fault(*self._asked)

    def heal(self) -> None:
        """Undo it, and wait until that is proved; nothing happens if it was done before.

        Raises:
            FaultError: it is not healed.
        """
        __tracebackhide__ = True
        with PlainErrors():
            if self._fault is not None:
                self._lease.trial.heal(self._fault)

    def __enter__(self) -> Self:
        __tracebackhide__ = True
        self.begin()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        __tracebackhide__ = True
        _raised(self.heal, error)

    async def __aenter__(self) -> Self:
        return await _entered(self.__enter__, lambda: self.__exit__(None, None, None))

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await asyncio.to_thread(self.__exit__, kind, error, trace)


class LiveCluster:
    """A live cluster; see docs/pytest.md.

    Attributes:
        runs: the verdicts so far.
    """

    def __init__(self, lease: Lease) -> None:
        self.runs: list[Run] = []
        self._lease = lease
        self._trial = lease.trial
        self._draining: LiveDrain | None = None
        self._fed = 0

    @property
    def folder(self) -> Path:
        """The run folder, with events, faults and logs."""
        return self._trial.folder

    @property
    def seed(self) -> int:
        """The seed by which targets are drawn."""
        return self._trial.plan.now.seed

    @property
    def endpoints(self) -> str:
        """Where clients connect, such as `10.1.0.1:9092,10.1.0.2:9092`."""
        with PlainErrors():
            return self._trial.endpoints

    @property
    def history(self) -> LiveHistory:
        """Records what clients of your own do: `history.sent(topic, id)` and `history.received(topic, id)`."""
        return self._trial.history

    @property
    def logs(self) -> Path:
        """The folder with what the processes have logged until now, `<host>/<process>.log`."""
        return self._trial.collect_logs()

    @property
    def properties(self) -> dict[str, str]:
        """What a CI system should show of it, and of its last verdict."""
        return self.runs[-1].properties if self.runs else run_properties(self.seed, self.folder)

    def topic(self, name: str, *, partitions: int = 1, replication: int | None = None) -> str:
        """Make a topic; return its name in the system, which differs if the cluster had an earlier run.

        Args:
            name: its name here.
            partitions: number of partitions.
            replication: replicas of each partition; default: 3, limited by the number of brokers.

        Raises:
            BadInput: the system cannot have it.
        """
        __tracebackhide__ = True
        with PlainErrors():
            return self._trial.topic(name, partitions, replication)

    def fault(self, kind: str, on: str | Sequence[str] = "one", *, of: str = "", **keys: Any) -> BlockFault:
        """Return a fault that holds during a block: `with live.fault("kill", on="leader", of="orders/0"):`.

        Args:
            kind: its kind; see docs/nemeses.md.
            on: a host, a role, or how many, as in a scenario.
            of: the partition whose role is meant, as `topic/partition`; or a key of the kind, as in `wire`.
            keys: its own keys, as in a scenario.

        Raises:
            BadInput: at the begin of the block: it cannot be injected here.
            FaultError: at the begin: it had no effect; at the end: it is not healed.
        """
        if of and "of" in nemesis(kind).parameters.model_fields and "/" not in of:
            return BlockFault(self._lease, kind, on, {**keys, "of": of})
        return BlockFault(self._lease, kind, self._of(on, of), keys)

    def inject(self, kind: str, on: str | Sequence[str] = "one", *, of: str = "", **keys: Any) -> BlockFault:
        """Begin a fault now, and prove it; it holds until its `heal`, or until the cluster goes; see `fault`."""
        __tracebackhide__ = True
        fault = self.fault(kind, on, of=of, **keys)
        fault.begin()
        return fault

    def wait_recovered(self, within: str | None = None) -> float:
        """Wait until every host answers and all replicas are in sync; return how long that took, s.

        Args:
            within: how long it may take; default: `recovery`.

        Raises:
            BadInput: a fault holds.
            RunFailed: it took longer; the message says what was missing.
        """
        __tracebackhide__ = True
        with PlainErrors():
            return self._trial.recover(None if within is None else self._seconds("wait_recovered", within))

    def feed(
        self,
        topic: str,
        messages: Mapping[Id, bytes] | Iterable[bytes],
        *,
        rate: float | None = None,
        within: str = "30s",
    ) -> FeedResult:
        """Send messages by a client of chaoskit, recorded; return what became of them.

        Args:
            topic: the topic.
            messages: contents by id; those without an id are numbered.
            rate: how many a second; None: as fast as possible.
            within: how long after the last one their outcome may take.

        Raises:
            BadInput: chaoskit's clients cannot do that.
        """
        __tracebackhide__ = True
        with PlainErrors():
            clients, within_s = self._trial.clients, self._seconds("feed", within)
            require(clients, LogClients, "feed", f"{_OWN_CLIENT}.sent()")
            own, contents = self._topic(topic), numbered(messages, self._fed)
            self._fed += len(contents)
            feeding = Feeding(clients, self.history, self._trial.plan.now.declared.producer)
            return feeding.feed(self._trial.in_system(own.name), own, contents, rate, within_s)

    def drain(self, topic: str, count: int | None = None, *, within: str = "30s") -> list[ReadRecord]:
        """Read on in a topic, from its beginning at first; return what came, in order by partition.

        Messages that were sent with their content are recorded as received.

        Args:
            topic: the topic.
            count: so many messages; None: those that are there now.
            within: how long that may take; fewer messages are no error.

        Raises:
            BadInput: chaoskit's clients cannot do that.
        """
        __tracebackhide__ = True
        with PlainErrors():
            within_s = self._seconds("drain", within)
            if self._draining is None:
                clients = self._trial.clients
                require(clients, ApplicationClients, "drain", f"{_OWN_CLIENT}.received()")
                self._draining = LiveDrain(clients, self.history)
            own = self._topic(topic)
            return self._draining.drain(self._trial.in_system(own.name), own, count, within_s)

    def judge(self) -> Run:
        """Judge everything since the cluster is up, by the same checkers as runs of scenarios; recording goes on.

        Waits for the recovery, and reads all topics to their end if every message was sent with its content.

        Raises:
            BadInput: a fault holds.
        """
        __tracebackhide__ = True
        with PlainErrors():
            run = Run(self.folder, self._trial.judge())
        self.runs.append(run)
        return run

    def close(self, *, hurry: bool = False) -> None:
        """Heal, recover and judge it, and remove it; see `chaoskit.run.live.lease.Lease.close`."""
        if self._draining is not None:
            self._draining.close()
        self._lease.close(hurry=hurry)

    def _topic(self, name: str) -> Topic:
        return self._trial.topic_of(name)

    def _of(self, on: str | Sequence[str], of: str) -> str | Sequence[str]:
        """Return the targets with the partition that is meant."""
        if not of:
            return on
        if not isinstance(on, str):
            raise BadInput(f"fault: of: {of!r} is of one role; write on='leader', or name the partition in each of on")
        topic, slash, partition = of.rpartition("/")
        if not slash or not partition.isdigit():
            raise BadInput(f"fault: of: {of!r} is no partition; write of='{of or 'orders'}/0'")
        return f"{on}:{self._topic(topic).name}/{partition}"

    def _seconds(self, call: str, text: str) -> float:
        try:
            return parse_duration(text) / 1e9
        except ValueError as error:
            raise BadInput(f"{call}: within: {error}") from None


class Up:
    """The block in which a cluster is up: `with ... .up() as live:`, also with `async with`.

    Args:
        lease: makes the cluster.
        known: what is up is in this list meanwhile.
    """

    def __init__(self, lease: Callable[[], Lease], known: list[LiveCluster]) -> None:
        self._make = lease
        self._known = known
        self._live: LiveCluster | None = None

    def __enter__(self) -> LiveCluster:
        __tracebackhide__ = True
        with PlainErrors():
            if self._live is not None:
                raise BadInput("up: this cluster is up already; call up() again for another one")
            self._live = LiveCluster(self._make())
        self._known.append(self._live)
        return self._live

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        __tracebackhide__ = True
        live, self._live = self._live, None
        if live is not None:
            hurry = isinstance(error, KeyboardInterrupt | SystemExit)
            try:
                _raised(lambda: live.close(hurry=hurry), error)
            finally:
                self._known.remove(live)

    async def __aenter__(self) -> LiveCluster:
        return await _entered(self.__enter__, lambda: self.__exit__(None, None, None))

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await asyncio.to_thread(self.__exit__, kind, error, trace)
