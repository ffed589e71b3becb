"""The dedup workload: the log workload with producers that resend unconfirmed messages, as applications do.

If the system's clients have persistent names and sequence ids, a producer keeps both across all its clients, and a
resent message keeps its value and its sequence id. Otherwise only the client library retries, and a new client
continues with the next message.
"""
