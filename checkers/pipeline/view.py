"""A pipeline as arrays: its inputs, and for each sink what was written of them."""

from __future__ import annotations

from functools import cached_property

import numpy as np
import pyarrow as pa

from chaoskit.base.columns import NONE, Flags, Ints, integers, words_of
from chaoskit.contract.checkers.checker import PartitionSetting
from checkers.arrays.columns import changes
from checkers.pipeline.extracts import (
    ACTED,
    COMMIT,
    CUT,
    DEAD,
    EXPECTED,
    FED,
    GONE,
    INPUT,
    LEFT,
    OWN,
    OWNER,
    WORN,
    WRITTEN,
)
from checkers.pipeline.lives import Begins, Ends
from checkers.pipeline.looks import Looks
from checkers.pipeline.outputs import DatabaseCut, GoneOutput, SeenOutput, Sink
from checkers.pipeline.queued import CONFIRMED, PUBLISHED, QueueRecord
from checkers.pipeline.redelivered import told_apart


class PipelineView:
    """A pipeline.

    Args:
        extracts: of all partitions; see `checkers.pipeline.extracts`.
        operations: all operations.

    Attributes:
        value, position, key, acked_ns, op, copies: of each input, ascending by value; `position` is `NONE` if it is not
            in the topic.
        place: of each input, index into `settings`.
        settings: the partitions that are fed.
        ordered: whether outputs must keep the order of keys.
        queued: whether inputs are in a queue.
        within_ns: how old outputs may be; `NONE`: nobody said.
        begins, ends: the beginnings and ends of instances.
    """

    def __init__(self, extracts: pa.Table, operations: pa.Table) -> None:
        self._kind = integers(extracts["kind"])
        topic, self._topics = words_of(extracts["topic"].dictionary_encode())
        words, self._words = words_of(extracts["words"].dictionary_encode())
        texts = {"topic": topic, "words": words}
        numbers = {name: integers(extracts[name]) for name in extracts.column_names if name not in texts}
        self._columns: dict[str, Ints] = {
            name: column.astype(np.int64) for name, column in {**numbers, **texts}.items()
        }
        fed = self._of(FED)
        place = fed["topic"] * (1 << 32) + fed["partition"]
        order = np.argsort(place)
        self._places = place[order]
        self.settings: list[PartitionSetting] = [
            PartitionSetting(self._topics[int(fed["topic"][row])], int(fed["partition"][row])) for row in order
        ]
        self.ordered: bool = bool((fed["value"] == 1).any())
        self.queued: bool = bool((fed["key"] == 1).any())
        self.within_ns: int = int(fed["number"].max(initial=NONE))
        inputs = self._of(INPUT)
        order = np.argsort(inputs["value"], kind="stable")
        order = order[changes(inputs["value"][order])]
        self.value, self.position, self.key = (inputs[name][order] for name in ("value", "position", "key"))
        self.acked_ns, self.op, self.copies = (inputs[name][order] for name in ("at_ns", "op", "number"))
        self.place: Ints = self._placed(inputs)[order]
        self.begins = Begins.of(operations)
        self.ends = Ends.of(operations)
        self._operations = operations

    def _of(self, kind: int) -> dict[str, Ints]:
        rows = np.flatnonzero(self._kind == kind)
        return {name: column[rows] for name, column in self._columns.items()}

    def _placed(self, rows: dict[str, Ints]) -> Ints:
        return np.searchsorted(self._places, rows["topic"] * (1 << 32) + rows["partition"])

    @cached_property
    def sinks(self) -> list[Sink]:
        """What was written, by sink, as far as it can be attributed."""
        return [sink for sink in self._written if not sink.unattributed]

    @cached_property
    def unattributed(self) -> list[Sink]:
        """The sinks in which something was written, and nothing has an input's id: `identity` does not fit it."""
        return [sink for sink in self._written if sink.unattributed]

    @cached_property
    def _written(self) -> list[Sink]:
        expected, written = self._of(EXPECTED), self._of(WRITTEN)
        sinks = []
        for code in np.unique(expected["topic"]).tolist():
            bound = int(np.flatnonzero(expected["topic"] == code)[0])
            least, most = (self._bounds(int(expected[name][bound]), name) for name in ("value", "number"))
            ordered = bool(expected["key"][bound])
            rows = np.flatnonzero(written["topic"] == code)
            deliveries = {name: column[rows] for name, column in written.items()}
            owner = self._input(deliveries["value"])
            # What was published through an exchange of the application's own may go to any sink.
            published = self._acted(PUBLISHED, [code, *(self._topics.index(fed.topic) for fed in self.settings)])
            own, received, possible = told_apart(deliveries, owner, self._acted(CONFIRMED, [code]), published)
            columns = {name: deliveries[name][own] for name in ("value", "partition", "position", "at_ns", "op")}
            sink = Sink(
                self._topics[code],
                least,
                most,
                ordered,
                **columns,
                input=owner[own],
                received=received,
                possible=possible,
            )
            sinks.append(sink)
        return sinks

    def _acted(self, act: int, topics: list[int]) -> Ints:
        """Return how often instances were seen doing something with outputs of each input; `topics`: indices."""
        acts = self._of(ACTED)
        chosen = (acts["position"] == act) & np.isin(acts["topic"], topics)
        owner = self._input(acts["value"][chosen])
        return np.bincount(owner[owner != NONE], minlength=self.value.size)

    def _bounds(self, common: int, name: str) -> Ints:
        """Return a bound of all inputs, their own or the common one; `name`: its column in `EXPECTED`."""
        bounds, own = np.full(self.value.size, common), self._of(OWN)
        inputs = self._input(own["value"])
        bounds[inputs[inputs != NONE]] = own["position" if name == "value" else name][inputs != NONE]
        return bounds

    @cached_property
    def gone(self) -> dict[tuple[int, str], GoneOutput]:
        """By input and sink, its output that was there and is there no more; the one that was there for longest."""
        rows = self._of(GONE)
        inputs = self._input(rows["value"])
        order = [row for row in np.argsort(-rows["at_ns"], kind="stable").tolist() if inputs[row] != NONE]
        topic, seen_ns, missed_ns = (rows[name].tolist() for name in ("topic", "at_ns", "number"))
        return {(int(inputs[row]), self._topics[topic[row]]): GoneOutput(seen_ns[row], missed_ns[row]) for row in order}

    @cached_property
    def cuts(self) -> list[DatabaseCut]:
        """What took from databases of outputs what they had not flushed, in order of time."""
        rows = self._of(CUT)
        return [
            DatabaseCut(
                self._topics[int(rows["topic"][row])],
                int(rows["at_ns"][row]),
                int(rows["number"][row]),
                bool(rows["value"][row]),
                self._words[int(rows["words"][row])],
            )
            for row in np.argsort(rows["at_ns"], kind="stable").tolist()
        ]

    def _input(self, values: Ints) -> Ints:
        if not self.value.size:
            return np.full(values.size, NONE)
        at = np.minimum(np.searchsorted(self.value, values), self.value.size - 1)
        return np.where(self.value[at] == values, at, NONE)

    def counts(self, sink: Sink) -> Ints:
        """Return how many outputs each input has in a sink."""
        return np.bincount(sink.input[sink.input != NONE], minlength=self.value.size)

    @cached_property
    def in_topic(self) -> Flags:
        """Whether each input is in the topic that the application reads."""
        present: Flags = self.copies > 0
        return present

    @cached_property
    def dead(self) -> Flags:
        """Whether each input is among the dead letters of its queue."""
        flags, at = np.zeros(self.value.size, np.bool_), self._input(self._of(DEAD)["value"])
        flags[at[at != NONE]] = True
        return flags

    @cached_property
    def queue(self) -> QueueRecord | None:
        """What the application did with the inputs of a queue; None if they are in a topic."""
        if not self.queued:
            return None
        acts, left = self._of(ACTED), np.zeros(self.value.size, np.bool_)
        owner, waiting = self._input(acts["value"]), self._input(self._of(LEFT)["value"])
        left[waiting[waiting != NONE]] = True
        worn, returns = self._of(WORN), np.zeros(self.value.size, np.int64)
        at = self._input(worn["value"])
        returns[at[at != NONE]] = worn["number"][at != NONE]
        known = owner != NONE
        columns = {"act": acts["position"], "input": owner, "instance": acts["number"]}
        columns |= {"at_ns": acts["at_ns"], "op": acts["op"]}
        return QueueRecord(self.value.size, {name: column[known] for name, column in columns.items()}, left, returns)

    def confirmed(self, sink: Sink) -> Ints:
        """Return how many outputs of each input the system confirmed to the application, as far as that was seen."""
        return self._acted(CONFIRMED, [self._topics.index(sink.topic)])

    @cached_property
    def done(self) -> tuple[Ints, Ints]:
        """For each input when the application was done with it, by a commit or a settlement, and the operation; `NONE`
        if neither was seen."""
        return self.committed if self.queue is None else (self.queue.done_ns, self.queue.done_op)

    def _reached(self, sink: Sink) -> Ints:
        """Return how many outputs of each input reached a sink: what the system confirmed and nobody received is not
        missing because of the application."""
        return np.maximum(sink.possible, self.confirmed(sink))

    @cached_property
    def _lacks(self) -> list[Flags]:
        """Of each sink, which inputs lack outputs in it."""
        return [self._reached(sink) < sink.least * self.copies for sink in self.sinks]

    def lacking(self, index: int) -> list[str]:
        """Return the sinks in which an input lacks outputs."""
        return [sink.topic for sink, lacks in zip(self.sinks, self._lacks, strict=True) if lacks[index]]

    def first_output(self, index: int) -> SeenOutput | None:
        """Return the output of an input that was read first, of the sinks in which it lacks none."""
        seen = [
            (int(sink.at_ns[first[index]]), int(sink.op[first[index]]), sink.topic)
            for sink, first, lacks in zip(self.sinks, self._firsts, self._lacks, strict=True)
            if first[index] != NONE and not lacks[index]
        ]
        if not seen:
            return None
        seen_ns, op, topic = min(seen)
        since_ns = self._looks.before(op)
        return SeenOutput(topic, seen_ns if since_ns == NONE else since_ns, seen_ns)

    @cached_property
    def _firsts(self) -> list[Ints]:
        """Of each sink, by input the row of its output that was read first; `NONE`: it has none."""
        firsts = []
        for sink in self.sinks:
            rows = np.argsort(-sink.at_ns, kind="stable")
            rows, first = rows[sink.input[rows] != NONE], np.full(self.value.size, NONE)
            first[sink.input[rows]] = rows
            firsts.append(first)
        return firsts

    @cached_property
    def _looks(self) -> Looks:
        return Looks(self._operations)

    @cached_property
    def missing(self) -> tuple[Flags, Flags]:
        """Which inputs lack all of their outputs, and which lack some."""
        lacks_all, lacks_some = self.in_topic.copy(), np.zeros(self.value.size, np.bool_)
        needs_any = np.zeros(self.value.size, np.bool_)
        for sink, lacks in zip(self.sinks, self._lacks, strict=True):
            lacks_all &= self._reached(sink) == 0
            lacks_some |= lacks
            needs_any |= sink.least > 0
        lacks_all &= needs_any
        return lacks_all, lacks_some & self.in_topic & ~lacks_all

    @property
    def commits(self) -> bool:
        """Whether any commit was seen."""
        return bool((self._kind == COMMIT).any())

    @cached_property
    def _commits(self) -> list[dict[str, Ints]]:
        """The commits of each partition, in order of time."""
        commits = self._of(COMMIT)
        place = self._placed(commits)
        order = np.lexsort((commits["op"], commits["at_ns"]))
        rows = [order[place[order] == number] for number in range(len(self.settings))]
        return [{name: column[mine] for name, column in commits.items()} for mine in rows]

    @cached_property
    def committed(self) -> tuple[Ints, Ints]:
        """For each input when a group first committed a position behind it, and the operation; `NONE` if none did."""
        at_ns, op = np.full(self.value.size, NONE), np.full(self.value.size, NONE)
        for number, commits in enumerate(self._commits):
            inputs = np.flatnonzero((self.place == number) & self.in_topic)
            at = _first_commit(commits["value"], commits["position"], self.position[inputs])
            covered = at != NONE
            at_ns[inputs[covered]] = commits["at_ns"][at[covered]]
            op[inputs[covered]] = commits["op"][at[covered]]
        return at_ns, op

    @cached_property
    def commit_gap_ns(self) -> int:
        """How long it usually is from one commit of a partition to the next; at least 1 s."""
        gaps = np.concatenate([np.diff(commits["at_ns"]) for commits in self._commits])
        return max(1_000_000_000, int(np.percentile(gaps, 90)) if gaps.size else 0)

    @cached_property
    def _reached_at(self) -> list[tuple[Ints, Ints]]:
        """By partition the times and positions of its commits, without those of single inputs."""
        whole = [(commits, commits["value"] == NONE) for commits in self._commits]
        return [(commits["at_ns"][rows], commits["position"][rows]) for commits, rows in whole]

    def back_before(self, index: int, since_ns: int, until_ns: int) -> int:
        """Return when, in an interval, a group last committed a position, if that is not behind an input; `NONE`: it
        is, or nothing was committed."""
        at_ns, position = self._reached_at[int(self.place[index])]
        last = int(np.searchsorted(at_ns, until_ns, side="right")) - 1
        back = last >= 0 and at_ns[last] > since_ns and position[last] <= self.position[index]
        return int(at_ns[last]) if back else NONE

    def steps_back(self, place: int, instance: int, until_ns: int) -> int:
        """Return how often the commits of a partition went back in the life of an instance until then, while it owned
        it."""
        at_ns, holder = self._backs[place]
        return int(
            ((holder == instance) & (at_ns >= self.begins.of_life(instance, until_ns)) & (at_ns <= until_ns)).sum()
        )

    @cached_property
    def _backs(self) -> list[tuple[Ints, Ints]]:
        """When the commits of each partition went back, and which instance owned it all the while; `NONE`: none did."""
        backs = []
        for place, (at_ns, position) in enumerate(self._reached_at):
            back = np.flatnonzero(np.diff(position) < 0)
            backs.append((at_ns[back + 1], self._holders(place, at_ns[back], at_ns[back + 1])))
        return backs

    @cached_property
    def _owned(self) -> list[tuple[Ints, Ints]]:
        owners = self._of(OWNER)
        place = self._placed(owners)
        rows = [np.flatnonzero(place == number) for number in range(len(self.settings))]
        ordered = [mine[np.argsort(owners["at_ns"][mine], kind="stable")] for mine in rows]
        return [(owners["at_ns"][mine], owners["value"][mine]) for mine in ordered]

    def owner(self, place: int, at_ns: int) -> int:
        """Return the instance that owned a partition then, as far as that was seen; `NONE`: nobody knows."""
        seen_ns, instance = self._owned[place]
        at = int(np.searchsorted(seen_ns, at_ns, side="right")) - 1
        return int(instance[at]) if at >= 0 else NONE

    def holder(self, place: int, since_ns: int, until_ns: int) -> int:
        """Return the instance that owned a partition during a whole interval; `NONE`: none did, or nobody knows."""
        return int(self._holders(place, np.array([since_ns]), np.array([until_ns]))[0])

    def _holders(self, place: int, since_ns: Ints, until_ns: Ints) -> Ints:
        """Return the same of several intervals."""
        seen_ns, instance = self._owned[place]
        if not instance.size:
            return np.full(since_ns.size, NONE)
        begin, end = (np.searchsorted(seen_ns, at_ns, side="right") - 1 for at_ns in (since_ns, until_ns))
        turn = np.cumsum(changes(instance))
        return np.where((begin >= 0) & (turn[begin] == turn[end]), instance[begin], NONE)

    def moved(self, place: int, since_ns: int, until_ns: int) -> bool:
        """Return whether a partition had another owner than before, at some time of an interval; while a group
        rebalances it has none."""
        seen_ns, instance = self._owned[place]
        known = instance != NONE
        seen_ns, instance = seen_ns[known], instance[known]
        change = np.flatnonzero((seen_ns >= since_ns) & (seen_ns <= until_ns))
        return any(index > 0 and instance[index] != instance[index - 1] for index in change.tolist())


def _first_commit(first: Ints, following: Ints, position: Ints) -> Ints:
    """Return the index of the first commit that covers each position, `NONE` if none does.

    Args:
        first: where each commit begins; `NONE`: with the partition.
        following: one past its end.
        position: the positions.
    """
    at = np.full(position.size, NONE)
    if not following.size:
        return at
    reached = np.maximum.accumulate(np.where(first == NONE, following, NONE))
    at = np.searchsorted(reached, position, side="right")
    alone = np.flatnonzero(first != NONE)
    order = np.argsort(position)
    begin = np.searchsorted(position[order], first[alone])
    size = np.maximum(np.searchsorted(position[order], following[alone]) - begin, 0)
    offset = np.arange(size.sum()) - np.repeat(np.cumsum(size) - size, size)
    np.minimum.at(at, order[np.repeat(begin, size) + offset], np.repeat(alone, size))
    return np.where(at < following.size, at, NONE)
