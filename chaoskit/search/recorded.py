"""A run whose disks were recorded, as a source of crash points."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from chaoskit.base.errors import BadInput
from chaoskit.base.latency import Ints
from chaoskit.contract import installed
from chaoskit.contract.checkers.anomaly import Gone
from chaoskit.contract.guarantees import mechanism
from chaoskit.contract.guarantees.act import Damage
from chaoskit.contract.guarantees.guarantee import Allowance
from chaoskit.contract.hosts.recorded_disk import RecordedDisks
from chaoskit.history.format.origin import read_origin
from chaoskit.history.reading.reader import History
from chaoskit.judge.exposure.copies import acknowledged, read_copies, recorded
from chaoskit.judge.exposure.loss_window import StableCopies
from chaoskit.judge.subject.subject import read_subject
from chaoskit.judge.timing.recovery import read_recovery
from chaoskit.model.place import Place
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
    copies: StableCopies | None

    @classmethod
    def open(cls, folder: Path) -> Recorded:
        """Open a recorded run.

        Raises:
            BadInput: the disk of one of its hosts was not recorded.
        """
        subject = read_subject(folder)
        plan, provider, recordings = recorded(folder, subject)
        origin_ns = read_origin(folder / "wal")
        hosts = {}
        for host, recording in recordings.items():
            operations = provider.operations(recording)
            hosts[host] = RecordedHost(recording, operations.times_ns - origin_ns, operations.folders)
        try:
            copies, _ = read_copies(folder, subject)
        except BadInput:  # of an older chaoskit, or torn: crash points can be tried all the same
            copies = None
        return cls(folder, plan, History.open(folder), hosts, provider, copies)

    @property
    def load_start_ns(self) -> int:
        """When the load began, ns since the start of the run."""
        return int(read_recovery(self.folder).get("load_start_ns", 0))

    @property
    def allowance(self) -> Allowance:
        """Whether the declared settings allow a loss by one power cut of all hosts."""
        losing, declared = set(installed.gone(Gone.LOST, Gone.CUT)), self.plan.declared
        for rule in self.plan.system.guarantees.rules:
            if not set(rule.allows) & losing or (rule.known and rule.id not in self.plan.scenario.accept):
                continue
            for how in rule.mechanisms(declared):
                if isinstance(how, mechanism.Copies) and (how.takes & Damage.FORGETS or how.in_process):
                    return Allowance(True, how.why, rule.remedy, rule.id)
        return Allowance(False, "no setting allows it")

    @property
    def keeps(self) -> bool:
        """Whether what was sent can be read later."""
        return all(topic.model.keeps for topic in self.plan.declared.topics)

    def acked_before(self, time_ns: int) -> dict[Place, pa.Array]:
        """Return, for each partition, the values of the messages of the load that were acknowledged before a given
        time, and that the system must still have then."""
        by_place = acknowledged(self.history, self.plan.declared.topics)
        return {
            place: pa.array(messages.values[(messages.acked_ns < time_ns) & (messages.gone_ns >= time_ns)])
            for place, messages in by_place.items()
        }

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
        due = (copies.acked_ns < min(cuts_ns)) & (copies.gone_ns >= min(cuts_ns))
        return int((due & ~self._on_disks(copies, cuts_ns, whole).any(axis=0)).sum())

    def whole_of(self, lost: Mapping[Place, pa.Array], cuts_ns: Sequence[int], whole: Sequence[bool]) -> int | None:
        """Return how many of these messages were on as many disks after all cuts, if these keep nothing that was not
        flushed, as their topic has replicas; None if that cannot be seen.

        Args:
            lost: the messages of each partition.
            cuts_ns, whole: as of `missing_at`.
        """
        if self.copies is None:
            return None
        order = np.argsort(self.copies.values, kind="stable")
        values, on_disks = self.copies.values[order], self._on_disks(self.copies, cuts_ns, whole).sum(axis=0)[order]
        replicas = {topic.name: topic.replication for topic in self.plan.declared.topics}
        count = 0
        for (topic, _), missing in lost.items():
            numbers = missing.to_numpy()
            at = np.minimum(np.searchsorted(values, numbers), max(values.size - 1, 0))
            known = values[at] == numbers if values.size else np.zeros(numbers.size, np.bool_)
            count += int((on_disks[at[known]] >= replicas[topic]).sum())
        return count

    def _on_disks(self, copies: StableCopies, cuts_ns: Sequence[int], whole: Sequence[bool]) -> npt.NDArray[np.bool_]:
        """Return by host and message whether its disk has it after its cut."""
        stored = [number for number, host in enumerate(self.hosts) if host in copies.hosts]
        at_ns, spared = np.array(cuts_ns)[stored, None], np.array(whole)[stored, None]
        kept: npt.NDArray[np.bool_] = np.where(spared, copies.written_ns, copies.stable_ns) <= at_ns
        return kept
