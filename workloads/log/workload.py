"""The log workload plug-in."""

from __future__ import annotations

from chaoskit.contract.workloads.traits import Backlog
from chaoskit.load.logs import GroupedWorkload
from workloads.log.options import BacklogOptions, LogOptions

_CAUGHT_UP = 1000
"""This many messages may wait for consumers that have caught up."""


class LogWorkload(GroupedWorkload):
    """Entry point `log` of `chaoskit.workloads`."""

    options = LogOptions

    def traits(self, options: LogOptions) -> tuple[object, ...]:
        backlog = () if options.backlog is None else (_backlog(options.backlog, options),)
        return (*super().traits(options), *backlog)


def _backlog(wanted: BacklogOptions, options: LogOptions) -> Backlog:
    messages = -(-wanted.size // options.message_size)
    left = max(_CAUGHT_UP, int((1 - wanted.drain) * messages))
    return Backlog(wanted.after, options.groups, messages, left, wanted.within)
