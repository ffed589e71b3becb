"""Pays orders. A payment that could not be stored in time is given up, and nobody looks."""

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
consumer.subscribe([orders])
while True:
    messages = [message for message in consumer.consume(50, 0.2) if message.error() is None]
    for message in messages:
        producer.produce(payments, message.value(), message.key())
    producer.flush()
    if messages:
        consumer.commit(asynchronous=False)
