"""What a fault of an application's host could have taken: the inputs that its instance owned, and had not committed; of
a queue, those that it was given, and whose output was not there yet.

A fault of an instance that owns no partition, or has nothing to do, proves nothing about the application. A fault of
its database could have taken the inputs of all instances, and those as well that were committed right before.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from chaoskit.base.columns import NONE, Ints, integers
from chaoskit.contract.guarantees.act import Act
from chaoskit.contract.guarantees.guarantee import Effect
from chaoskit.history.reading.reader import History, read_observations
from chaoskit.judge.explaining.effects import effects
from chaoskit.judge.subject.subject import Subject
from chaoskit.model.observations.pipeline import ACTS, ApplicationCommits, Fed, InstanceActs, Outputs, Owners


def owned_inputs(history: History, subject: Subject) -> dict[int, int]:
    """Return how many inputs each fault of the application's hosts could have taken, by its number, of those of which
    that is known."""
    if subject.plan is None:
        return {}
    hosts, database = subject.plan.scenario.cluster.application_hosts, subject.plan.scenario.cluster.database_host
    beside = {*hosts, database}
    struck = [effect for effect in effects(history.recorded_faults) if hosts and {*effect.targets} <= beside]
    if not struck:
        return {}
    fed = list(_fed(history))
    known: dict[int, int] = {}
    for effect in struck:
        instances = None if database in effect.targets else [hosts.index(target) for target in effect.targets]
        counts = [inputs.at_stake(effect, instances) for inputs in fed]
        if fed and None not in counts:
            known[effect.number] = sum(count or 0 for count in counts)
    return known


_FLUSHED_NS = 1_000_000_000
"""What a database committed longer ago may be on its disk: PostgreSQL flushes within three times `wal_writer_delay`,
0.6 s by default."""


class _Inputs:
    """The inputs of one partition: when each was acknowledged at which position, who owned it, what was committed."""

    def __init__(self, history: History, messages: pa.Table, observations: pa.Table) -> None:
        operations = history.operations
        start_ns, end_ns = integers(operations["start_ns"]), integers(operations["end_ns"])
        sent = messages.filter(pc.equal(messages["direction"].cast(pa.string()), "sent"))
        acked = pc.equal(operations["outcome"].cast(pa.string()), "ok").take(sent["op"])
        sent = sent.filter(pc.and_(acked, pc.is_valid(sent["position"])))
        self._position, self._acked_ns = integers(sent["position"]), end_ns[integers(sent["op"])]
        self._owners, commits = Owners.read(observations), ApplicationCommits.read(observations)
        self._owned_ns = end_ns[self._owners.op]
        behind = commits.first_position == NONE
        self._committed, self._committed_ns = commits.next_position[behind], start_ns[commits.op[behind]]

    def at_stake(self, effect: Effect, instances: list[int] | None) -> int | None:
        """Return how many inputs a fault could have taken of these instances, or of the database (None); None if nobody
        knows who owned them."""
        if instances is None:
            return self._waiting(effect, effect.start_ns - _FLUSHED_NS)
        seen = int(np.searchsorted(self._owned_ns, effect.start_ns, side="right"))
        if not seen:
            return None
        last = self._owners.op == self._owners.op[seen - 1]
        struck = last & np.isin(self._owners.instance, instances)
        if not struck.any():
            return 0
        held = self._owners.held[struck]
        return self._waiting(effect, effect.start_ns) if (held == NONE).any() else int(held.sum())

    def _waiting(self, effect: Effect, since_ns: int) -> int:
        """Return how many inputs came before the end of a fault, and were not yet committed some time ago."""
        until_ns = (effect.done_ns or effect.start_ns) if effect.acts & Act.ENDS else effect.over_ns
        committed = self._committed[self._committed_ns <= since_ns].max(initial=0)
        waiting: Ints = self._position[(self._acked_ns <= until_ns) & (self._acked_ns != NONE)]
        return int(np.count_nonzero(waiting >= committed))


class _Given:
    """The inputs of a queue: which instance was given each, when, and when its first output was read."""

    def __init__(self, history: History, acts: InstanceActs) -> None:
        given = acts.act == ACTS.index("given")
        self._at_ns = integers(history.operations["start_ns"])[acts.op[given]]
        self._value, self._instance = acts.value[given], acts.instance[given]
        value, read_ns = _outputs(history)
        order = np.lexsort((read_ns, value))
        value, first = np.unique(value[order], return_index=True)
        at = np.minimum(np.searchsorted(value, self._value), max(value.size - 1, 0))
        known = value[at] == self._value if value.size else np.zeros(self._value.size, np.bool_)
        self._done_ns = np.full(self._value.size, np.iinfo(np.int64).max)
        self._done_ns[known] = read_ns[order][first[at[known]]]

    def at_stake(self, effect: Effect, instances: list[int] | None) -> int | None:
        """Return how many inputs a fault could have taken of these instances, or of the database (None); None if nobody
        was given any before."""
        if not (self._at_ns <= effect.start_ns).any():
            return None
        until_ns = (effect.done_ns or effect.start_ns) if effect.acts & Act.ENDS else effect.over_ns
        since_ns = effect.start_ns - (_FLUSHED_NS if instances is None else 0)
        held = (self._at_ns <= until_ns) & (self._done_ns > since_ns)
        if instances is not None:
            held &= np.isin(self._instance, instances)
        return int(np.unique(self._value[held]).size)


def _outputs(history: History) -> tuple[Ints, Ints]:
    """Return the input of each output that was read, and when."""
    tables = [
        history.messages(partition.topic, partition.partition)
        for partition in history.partitions
        if Outputs.read(read_observations(partition)) is not None
    ]
    read = [table.filter(pc.equal(table["direction"].cast(pa.string()), "received")) for table in tables]
    columns = [(integers(table["value"]), integers(table["received_ns"])) for table in read]
    none = np.zeros(0, np.int64)
    return np.concatenate([none, *(value for value, _ in columns)]), np.concatenate([none, *(at for _, at in columns)])


def _fed(history: History) -> Iterator[_Inputs | _Given]:
    for partition in history.partitions:
        observations = read_observations(partition)
        if Fed.read(observations) is None:
            continue
        acts = InstanceActs.read(observations)
        if acts.op.size:
            yield _Given(history, acts)
        else:
            yield _Inputs(history, history.messages(partition.topic, partition.partition), observations)
