"""A workload and a driver as OMB has them."""

from __future__ import annotations

from typing import Any

WORKLOAD: dict[str, Any] = {
    "name": "1 topic / 6 partitions", "topics": 1, "partitionsPerTopic": 6, "messageSize": 100,
    "payloadFile": "payload/payload-100b.data", "subscriptionsPerTopic": 1, "consumerPerSubscription": 2,
    "producersPerTopic": 3, "producerRate": 50_000, "consumerBacklogSizeGB": 0, "testDurationMinutes": 0.5,
}  # fmt: skip
DRIVER: dict[str, Any] = {
    "name": "Kafka",
    "driverClass": "io.openmessaging.benchmark.driver.kafka.KafkaBenchmarkDriver",
    "replicationFactor": 3,
    "topicConfig": "min.insync.replicas=2\nflush.messages=1\n",
    "commonConfig": "bootstrap.servers=k1:9092,k2:9092\n# a remark\nsecurity.protocol = PLAINTEXT\n",
    "producerConfig": "acks=all\nlinger.ms=1\nbatch.size=131072\nmax.request.size=1048576\n"
    "request.timeout.ms=1200000\n",
    "consumerConfig": "auto.offset.reset=earliest\nenable.auto.commit=false\nmax.partition.fetch.bytes=10485760\n",
}
PULSAR_DRIVER: dict[str, Any] = {
    "name": "Pulsar",
    "driverClass": "io.openmessaging.benchmark.driver.pulsar.PulsarBenchmarkDriver",
    "client": {
        "serviceUrl": "pulsar://localhost:6650", "ioThreads": 16, "topicType": "persistent",
        "persistence": {"ensembleSize": 4, "writeQuorum": 3, "ackQuorum": 2, "deduplicationEnabled": True},
    },
    "producer": {"batchingEnabled": True, "batchingMaxPublishDelayMs": 1, "batchingMaxBytes": 131_072,
        "blockIfQueueFull": True, "pendingQueueSize": 0},
    "consumer": {"receiverQueueSize": 10_000, "subscriptionType": "Failover"},
}  # fmt: skip
ROCKETMQ_DRIVER: dict[str, Any] = {
    "name": "RocketMQ",
    "driverClass": "io.openmessaging.benchmark.driver.rocketmq.RocketMQBenchmarkDriver",
    "clusterName": "DefaultCluster", "namesrvAddr": "127.0.0.1:9876", "vipChannelEnabled": False, "batchCQ": True,
    "autoBatch": True, "batchMaxDelayMs": 5, "enableBackpressure": True, "backpressureConcurrency": 1024,
    "accessKey": None, "secretKey": None,
}  # fmt: skip
