"""The log workload: producers append numbered messages to partitions, consumers read them in order.

Load is open loop at a declared rate (a stalled broker does not hold back the schedule: the intended
send time is kept) or closed loop at the maximum. Every send, poll, assignment and seek is recorded.
"""
