"""Share groups (KIP-932): the queues of Kafka. A queue is a topic of one partition, which one share group reads."""
