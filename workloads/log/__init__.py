"""The log workload: producers append numbered messages to partitions, consumers read them in order.

The load is open-loop at a declared rate (a stalled broker does not delay the schedule: the intended send
time is recorded) or closed-loop at the maximum. Every send, poll, assignment and seek is recorded.
"""
