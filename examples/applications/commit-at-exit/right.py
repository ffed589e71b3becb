"""Pays orders, and commits every 5 s, and whenever it gives a partition away: then it waits for the commit."""

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
reached: dict[int, object] = {}


def commit(*_: object) -> None:
    for message in list(reached.values()):
        consumer.commit(message=message, asynchronous=False)
    reached.clear()


stopping = []
signal.signal(signal.SIGTERM, lambda *_: stopping.append(True))
consumer.subscribe([orders], on_revoke=commit)
committed = time.monotonic()
while not stopping:
    for message in consumer.consume(50, 0.2):
        if message.error() is None:
            producer.produce(payments, message.value(), message.key())
            reached[message.partition()] = message
    producer.flush()
    if time.monotonic() - committed > 5:
        commit()
        committed = time.monotonic()
commit()
consumer.close()
