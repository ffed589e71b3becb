"""Pays orders. When a payment could not be stored in time it ends, is started again, and repeats it."""

import sys

from confluent_kafka import Consumer, Producer

endpoints, orders, payments = sys.argv[1:4]
consumer = Consumer(
    {
        "bootstrap.servers": endpoints,
        "group.id": "pay",
        "auto.offset.reset": "earliest",
        "enable.auto.commit": False,
        "session.timeout.ms": 6000,
    }
)
producer = Producer({"bootstrap.servers": endpoints, "message.timeout.ms": 2000})
failed = []
consumer.subscribe([orders])
while True:
    messages = [message for message in consumer.consume(50, 0.2) if message.error() is None]
    for message in messages:
        producer.produce(
            payments, message.value(), message.key(), on_delivery=lambda error, _: error and failed.append(error)
        )
    producer.flush()
    if failed:
        sys.exit(f"not stored: {failed[0]}")
    if messages:
        consumer.commit(asynchronous=False)
