"""Pays orders with a pool of threads, while the client commits by itself what it has received."""

import sys
import time
from concurrent.futures import ThreadPoolExecutor

from confluent_kafka import Consumer, Message, Producer

endpoints, orders, payments = sys.argv[1:4]
consumer = Consumer(
    {
        "bootstrap.servers": endpoints,
        "group.id": "pay",
        "auto.offset.reset": "earliest",
        "auto.commit.interval.ms": 500,
        "session.timeout.ms": 6000,
    }
)
producer = Producer({"bootstrap.servers": endpoints, "enable.idempotence": True})


def pay(message: Message) -> None:
    time.sleep(2)  # somebody else's answer
    producer.produce(payments, message.value(), message.key())
    producer.poll(0)


consumer.subscribe([orders])
with ThreadPoolExecutor(200) as pool:
    while True:
        for message in consumer.consume(50, 0.2):
            if message.error() is None:
                pool.submit(pay, message)
