"""Waits for what a fault waits for: how far another fault, the system, its clients or its logs have come."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from chaoskit.base.errors import ChaoskitError
from chaoskit.base.quantities import SECOND
from chaoskit.contract.hosts.host import ServiceHost
from chaoskit.contract.power import optional
from chaoskit.contract.systems.installation import Installation
from chaoskit.contract.systems.service import Service
from chaoskit.history.format.fault import Fault
from chaoskit.judge.faults.consequence import Change, Changed, changes
from chaoskit.judge.faults.consequence_words import seen
from chaoskit.model.progress import Progress
from chaoskit.run.faults.stall import AckStall
from chaoskit.run.survey import Survey
from chaoskit.scenario.timeline import PlannedFault
from chaoskit.scenario.triggers import ANY, After, Trigger, When

_POLL_S = 0.2
_STALLED_NS = SECOND
"""A load without an acknowledgement for this long is a consequence."""

_LOG_TIMEOUT_S = 5


@dataclass(frozen=True, slots=True)
class _Begun:
    """A fault that began, and how far the load was then."""

    fault: Fault
    progress: Progress
    expected: str


class Triggers:
    """What the faults of a run wait for.

    Args:
        survey: knows the membership.
        progress: returns how far the load is.
        service: the system.
        hosts: its hosts, whose logs can be read.
        now: returns the time, ns since the start of the run.
    """

    def __init__(
        self,
        survey: Survey,
        progress: Callable[[], Progress],
        service: Service,
        hosts: Sequence[ServiceHost],
        now: Callable[[], int],
    ) -> None:
        self._survey = survey
        self._progress = progress
        self._installation = optional(service, Installation)
        self._hosts = hosts
        self._now = now
        self._begun: dict[str, _Begun] = {}

    def began(self, planned: PlannedFault, fault: Fault) -> None:
        """Take note that a fault begins; from now on it is seen how far it has come."""
        if planned.id:
            self._begun[planned.id] = _Begun(fault, self._progress(), planned.expect)

    def wait(self, planned: PlannedFault, over: threading.Event) -> str:
        """Wait for the trigger of a fault; return what came true, in words; empty if it did not in time.

        Args:
            planned: the fault.
            over: set when the load is over.
        """
        trigger, began_ns = planned.trigger, self._now()
        assert trigger is not None
        after, look = trigger.after, self._looking(trigger)
        while not (condition := look()):
            if over.wait(_POLL_S):
                return ""
            if after is not None:
                began_ns = self._begun[after.fault].fault.start_ns if after.fault in self._begun else self._now()
            if trigger.within_ns is not None and self._now() - began_ns > trigger.within_ns:
                return ""
        return "" if over.wait((after.delay if after is not None else 0) / 1e9) else condition

    def _looking(self, trigger: Trigger) -> Callable[[], str]:
        """Return what tells whether a trigger has come true, in words; empty if it has not."""
        if trigger.after is not None:
            return partial(self._after, trigger.after, AckStall())
        assert trigger.when is not None
        when = trigger.when
        if when.log is not None:
            hosts = [host for host in self._hosts if when.on in (None, host.name)]
            return _Logs(self._installation, hosts, when.log).first_match
        return partial(self._when, when)

    def _after(self, after: After, stall: AckStall) -> str:
        begun = self._begun.get(after.fault)
        if begun is None:
            return ""
        fault = begun.fault
        if after.reached == "effective":
            return f"{after.fault} had taken effect" if fault.effective_ns is not None else ""
        if after.reached == "healed":
            return f"{after.fault} was healed" if fault.healed_ns is not None else ""
        consequence = self._consequence(begun, stall)
        return f"{after.fault} had a consequence: {consequence}" if consequence else ""

    def _consequence(self, begun: _Begun, stall: AckStall) -> str:
        """Return what changed since a fault began, as far as that is known while the load lasts; of a fault that has an
        expected consequence, whether it has come."""
        self._survey.soon()
        before, now, expected = begun.progress, self._progress(), begun.expected
        consequences = {
            change.what.value: seen(change) for change in self._changes() if change.at_ns >= begun.fault.start_ns
        }
        if failed := now.failed + now.indeterminate - before.failed - before.indeterminate:
            consequences["not-acknowledged"] = f"{failed:,} sends were not acknowledged"
        if stall.lasted_ns(now.acked, self._now()) >= _STALLED_NS:
            consequences["stalled"] = "no send was acknowledged for a second"
        return consequences.get(expected, "") if expected not in ("", "some") else next(iter(consequences.values()), "")

    def _when(self, when: When) -> str:
        progress = self._progress()
        if when.acked is not None:
            return f"{progress.acked:,} sends were acknowledged" if progress.acked >= when.acked else ""
        if when.lag is not None:
            return f"{progress.lag:,} acknowledged messages were not received yet" if progress.lag >= when.lag else ""
        self._survey.soon()
        if when.leader is not None:
            led = [place for place, standings in self._survey.standings.items() if standings[-1].leader == when.leader]
            return f"{when.leader} leads {led[0][0]}/{led[0][1]}" if led else ""
        out = [change for change in self._changes() if change.what is Change.OUT_OF_SYNC]
        if when.in_sync is not None:
            own = [change for change in out if change.host == when.in_sync]
            back = bool(own) and all(change.until_ns is not None for change in own)
            return f"{when.in_sync} was in sync again with all of its partitions" if back else ""
        fallen = [change for change in out if change.until_ns is None and when.out_of_sync in (change.host, ANY)]
        return seen(fallen[0]) if fallen else ""

    def _changes(self) -> Iterator[Changed]:
        for place, standings in list(self._survey.standings.items()):
            yield from changes(place, list(standings))


class _Logs:
    """What the services of some hosts write to their logs from now on."""

    def __init__(self, installation: Installation | None, hosts: Sequence[ServiceHost], pattern: str) -> None:
        self._pattern = re.compile(pattern)
        self._paths = [
            (host, host.log_path(name))
            for host in hosts
            for name in (installation.services(host) if installation is not None else ())
        ]
        self._read = [self._size(host, path) for host, path in self._paths]

    def first_match(self) -> str:
        """Return the first new line that matches, with its host; empty if none does."""
        for index, (host, path) in enumerate(self._paths):
            if (size := self._size(host, path)) <= self._read[index]:
                continue
            try:
                new = host.run(["tail", "-c", f"+{self._read[index] + 1}", path], timeout_s=_LOG_TIMEOUT_S).out
            except ChaoskitError:
                continue  # the host is dark; what it wrote is read once it is back
            self._read[index] = size
            for line in new.splitlines():
                if self._pattern.search(line):
                    return f"{host.name} logged: {line.strip()}"
        return ""

    def _size(self, host: ServiceHost, path: str) -> int:
        try:
            size = host.run(["stat", "--format", "%s", path], check=False, timeout_s=_LOG_TIMEOUT_S).out
        except ChaoskitError:
            return 0
        return int(size) if size.strip().isdigit() else 0
