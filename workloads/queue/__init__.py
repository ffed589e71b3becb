"""The queue workload: publishers send to queues, consumers receive and settle each message.

Consumers can refuse some messages once, leave some unsettled until they exit, and exit abruptly from time to time.
After the load they stop, and the final read drains every queue: what is there is received and settled, until the system
says that nothing is left.
"""
