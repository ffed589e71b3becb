"""A run whose disks were recorded, as a source of crash points."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from chaoskit.base import store
from chaoskit.base.errors import BadInput
from chaoskit.base.latency import Ints
from chaoskit.contract import installed
from chaoskit.contract.anomaly import Gone
from chaoskit.contract.guarantee import Allowance, Damage, Effect
from chaoskit.contract.recorded_disk import RecordedDisks
from chaoskit.contract.vocabulary import AUDITOR, Place
from chaoskit.history.digesting.live import require_history
from chaoskit.history.format.origin import read_origin
from chaoskit.history.reading.reader import History
from chaoskit.judge.copies import read_copies
from chaoskit.judge.guarantees import allowances
from chaoskit.judge.loss_window import Copies
from chaoskit.judge.recovery import read_recovery
from chaoskit.judge.subject import read_subject
from chaoskit.scenario.plan import Plan


@dataclass(frozen=True, slots=True)
class RecordedHost:
    """A host whose disk was recorded.

    Attributes:
        recording: the folder of its recording.
        times_ns: when each operation was received, ns since the start of the run, in order.
        folders: numbers of the flushes after which a folder was another one.
    """

    recording: Path
    times_ns: Ints
    folders: Ints

    def operation_at(self, at_ns: int) -> int:
        """Return the number of the last operation at or before a time; 0 if all are later."""
        return int(np.searchsorted(self.times_ns, at_ns, side="right"))


@dataclass(frozen=True, slots=True)
class Recorded:
    """A run with recordings of the disks of all its hosts.

    Attributes:
        folder: the run folder.
        plan: what was run.
        history: its history.
        hosts: by name.
        provider: reads the recordings.
        copies: where each acknowledged message was; None if that cannot be seen.
    """

    folder: Path
    plan: Plan
    history: History
    hosts: Mapping[str, RecordedHost]
    provider: RecordedDisks
    copies: Copies | None

    @classmethod
    def open(cls, folder: Path) -> Recorded:
        """Open a recorded run.

        Raises:
            BadInput: the disk of one of its hosts was not recorded.
        """
        subject = read_subject(folder)
        plan = subject.plan
        require_history(folder)
        recordings = {host: folder / store.RECORDINGS / host for host in plan.host_names} if plan else {}
        missing = [host for host, recording in recordings.items() if not recording.is_dir()]
        if plan is None or not isinstance(plan.provider, RecordedDisks) or missing:
            raise BadInput(
                f"{folder}: {f'the disk of {missing[0]}' if missing else 'its disks'} was not recorded; "
                "run with cluster.disk: {kind: programmable, record: true}"
            )
        origin_ns = read_origin(folder / "wal")
        hosts = {}
        for host, recording in recordings.items():
            operations = plan.provider.operations(recording)
            hosts[host] = RecordedHost(recording, operations.times_ns - origin_ns, operations.folders)
        try:
            copies, _ = read_copies(folder, subject)
        except BadInput:  # of an older chaoskit, or torn: crash points can be tried all the same
            copies = None
        return cls(folder, plan, History.open(folder), hosts, plan.provider, copies)

    @property
    def load_start_ns(self) -> int:
        """When the load began, ns since the start of the run."""
        return int(read_recovery(self.folder).get("load_start_ns", 0))

    @property
    def allowance(self) -> Allowance:
        """Whether the declared settings allow a loss by one power cut of all hosts."""
        cut = Effect("power-cut", tuple(self.plan.host_names), True, Damage.FORGETS, 0, None)
        table = allowances(
            self.plan.system.guarantees, installed.anomalies(), self.plan.declared, [cut], self.plan.scenario.accept
        )
        return next((table[name] for name in installed.gone(Gone.LOST)), Allowance(False, "not declared"))

    @property
    def keeps(self) -> bool:
        """Whether what was sent can be read later."""
        return all(topic.model.keeps for topic in self.plan.declared.topics)

    def acked_before(self, time_ns: int) -> dict[Place, pa.Array]:
        """Return, for each partition, the values of the messages of the load that were acknowledged before a given
        time, and that the system must still have then."""
        taken = {topic.name for topic in self.plan.declared.topics if topic.model.gives_back}
        operations = self.history.operations
        done = pc.and_(pc.equal(operations["outcome"].cast(pa.string()), "ok"), pc.less(operations["end_ns"], time_ns))
        loaded = pc.and_(done, pc.not_equal(operations["client"].cast(pa.string()), AUDITOR))
        acked = pc.fill_null(loaded, False).to_numpy()
        values = {}
        for each in self.history.partitions:
            messages = self.history.messages(each.topic, each.partition)
            direction = messages["direction"].cast(pa.string())
            sent = messages.filter(pc.equal(direction, "sent"))
            there = sent["value"].filter(pa.array(acked[sent["op"].to_numpy()]))
            if each.topic in taken:
                received = pc.and_(pc.equal(direction, "received"), pc.less(messages["received_ns"], time_ns))
                gone = messages.filter(received)["value"].combine_chunks()
                there = there.filter(pc.invert(pc.is_in(there, value_set=gone)))
            values[each.topic, each.partition] = there
        return values

    def missing_at(self, cuts_ns: Sequence[int], whole: Sequence[bool]) -> int | None:
        """Return how many of the messages that were acknowledged before the first cut are on no disk after all cuts,
        if these keep nothing that was not flushed; None if that cannot be seen.

        Args:
            cuts_ns: when the power of each host is cut.
            whole: whether the cut of each host loses nothing.
        """
        copies = self.copies
        if copies is None:
            return None
        stored = [number for number, host in enumerate(self.hosts) if host in copies.hosts]
        at_ns, spared = np.array(cuts_ns)[stored, None], np.array(whole)[stored, None]
        there = np.where(spared, copies.written_ns, copies.stable_ns) <= at_ns
        due = (copies.acked_ns < min(cuts_ns)) & (copies.gone_ns >= min(cuts_ns))
        return int((due & ~there.any(axis=0)).sum())
