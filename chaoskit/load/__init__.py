"""The kit that workloads are composed of: schedule, sender, receiver, probes, final read, reports.

A load is open-loop at a declared rate (a stalled system does not delay the schedule: the intended send time is
recorded) or closed-loop at the maximum. Every operation is recorded.
"""
