"""The dedup workload: the log workload, its producers sending again what was not confirmed, as applications do.

Where the system's clients have lasting names and sequence ids, a producer keeps both through all its clients, and a
message that is sent again keeps its value and its sequence id. Elsewhere (Kafka) only the client library sends again,
and a new client goes on with the next message.
"""
