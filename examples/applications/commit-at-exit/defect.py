"""Pays orders, and commits every 5 s; when it is stopped, it asks for a last commit and does not wait for it."""

import os
import signal
import sys
import time

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
producer = Producer({"bootstrap.servers": endpoints, "enable.idempotence": True})
stopping = []
signal.signal(signal.SIGTERM, lambda *_: stopping.append(True))
consumer.subscribe([orders], on_revoke=lambda *_: consumer.commit(asynchronous=True))
committed = time.monotonic()
while not stopping:
    for message in consumer.consume(50, 0.2):
        if message.error() is None:
            producer.produce(payments, message.value(), message.key())
    producer.flush()
    if time.monotonic() - committed > 5:
        consumer.commit(asynchronous=True)
        committed = time.monotonic()
consumer.commit(asynchronous=True)
os._exit(0)
