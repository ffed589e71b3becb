"""Observes the groups of the application: their commits, and which instance owns which partition."""

from __future__ import annotations

import time
from collections.abc import Sequence

from chaoskit.contract.clients.application import ApplicationClients, GroupObserver, PartitionOwner, Progressed
from chaoskit.contract.clients.recorder import Recorder
from chaoskit.contract.workloads.workload import Job
from chaoskit.model.observations.pipeline import PartitionOwned, ProgressCommitted
from chaoskit.model.place import Place
from workloads.pipeline.options import PipelineOptions

_POLL_S = 0.1
_LOOK_S = 0.5

COMMIT_SEEN, OWNER_SEEN = "commit-seen", "owner-seen"


def observe(job: Job[PipelineOptions]) -> None:
    """Observe until stopped."""
    topic = job.recorder.in_system(job.options.reads.name)
    observer = job.clients.power(ApplicationClients).group_observer([topic])
    ownership = _Ownership(job.recorder, observer, job.application_hosts)

    def look() -> None:
        ownership.look()
        job.control.result({"owned": ownership.known})

    job.control.wait_start(look)
    while not job.control.stopping:
        record_commits(job.recorder, observer.committed(_POLL_S))
        ownership.look()
    record_commits(job.recorder, observer.committed(_POLL_S))
    observer.close()


def record_commits(recorder: Recorder, commits: Sequence[Progressed]) -> None:
    """Record commits, each as an operation at the time that the system recorded."""
    ahead_ns = time.time_ns() - time.monotonic_ns()
    for commit in commits:
        at_ns = commit.at_ms * 1_000_000 - ahead_ns
        op = recorder.invoke(COMMIT_SEEN, at_ns)
        recorder.observe(
            op, *commit.place, ProgressCommitted(commit.group, commit.next_position, commit.first_position)
        )
        recorder.complete(op, at_ns=at_ns)


class _Ownership:
    """Records who owns which partition, whenever that changes."""

    def __init__(self, recorder: Recorder, observer: GroupObserver, hosts: Sequence[str]) -> None:
        self._recorder = recorder
        self._observer = observer
        self._hosts = hosts
        self._owners: dict[Place, list[PartitionOwner]] = {}
        self._looked_s = 0.0

    @property
    def known(self) -> int:
        """How many partitions have an owner."""
        return len(self._owners)

    def look(self) -> None:
        """Look who owns what, unless that was done a moment ago."""
        if time.monotonic() - self._looked_s < _LOOK_S:
            return
        self._looked_s = time.monotonic()
        owned = self._observer.owners()
        if owned is None:
            return
        owners: dict[Place, list[PartitionOwner]] = {}
        for owner in sorted(owned):
            owners.setdefault(owner.place, []).append(owner)
        before, self._owners = self._owners, owners
        changed = {place for place in owners.keys() | before.keys() if owners.get(place) != before.get(place)}
        if changed:
            with self._recorder.operation(OWNER_SEEN) as op:
                for place in sorted(changed):
                    for seen in [self._seen(owner) for owner in owners.get(place, [])] or [PartitionOwned(None)]:
                        self._recorder.observe(op, *place, seen)

    def _seen(self, owner: PartitionOwner) -> PartitionOwned:
        member, hosts = owner.member, self._hosts
        return PartitionOwned(hosts.index(member) if member in hosts else None, owner.held)
