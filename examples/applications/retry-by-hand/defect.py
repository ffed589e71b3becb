"""Pays orders. A payment whose answer is late is sent again, by a producer that does not recognise its own copies."""

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
producer = Producer({"bootstrap.servers": endpoints, "message.timeout.ms": 1500})
consumer.subscribe([orders])
while True:
    messages = [message for message in consumer.consume(50, 0.2) if message.error() is None]
    left = [(message.key(), message.value()) for message in messages]
    while left:
        late: list[tuple[bytes, bytes]] = []
        for key, value in left:
            producer.produce(
                payments, value, key, on_delivery=lambda error, sent: error and late.append((sent.key(), sent.value()))
            )
        producer.flush()
        left = late
    if messages:
        consumer.commit(asynchronous=False)
