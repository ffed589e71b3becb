"""The feed workload: publishers send to topics that keep nothing, subscribers receive what they are promised.

The load is as in the log workload. Every subscriber subscribes to all topics; when each of its subscriptions began and
ended is recorded, with how uncertain that is. A late reader proves nothing, so nothing is drained at the end: one more
message is published to each topic until every subscriber has answered that it received it.
"""
