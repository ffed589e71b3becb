"""Pays orders. It commits what it has received, and works on it afterwards."""

import logging
import sys
import time

from confluent_kafka import Consumer, Producer

logging.basicConfig(level=logging.INFO, format="%(message)s")
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
consumer.subscribe([orders])
logging.info("begins")
while True:
    messages = [message for message in consumer.consume(50, 0.2) if message.error() is None]
    if messages:
        consumer.commit(asynchronous=False)
        logging.info("committed %d orders, the last is %s", len(messages), messages[-1].value().decode())
    for message in messages:
        time.sleep(0.002)  # work
        producer.produce(payments, message.value(), message.key())
    producer.flush()
