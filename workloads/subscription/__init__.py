"""The subscription workload: the log workload with consumers that share one subscription.

Consumers acknowledge messages individually or cumulatively. They can negatively acknowledge some messages, leave some
unacknowledged until they exit, and exit abruptly from time to time. After the load, each acknowledges what it has left
and everything else that is delivered, until nothing more arrives: all unacknowledged messages must have been
redelivered by then.
"""
