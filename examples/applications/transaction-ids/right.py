"""Pays orders in transactions, under a name that each instance keeps: a restart ends what a crash left open."""

import sys
import time

from confluent_kafka import Consumer, Producer

endpoints, orders, payments, instance = sys.argv[1:5]
consumer = Consumer(
    {
        "bootstrap.servers": endpoints,
        "group.id": "pay",
        "auto.offset.reset": "earliest",
        "enable.auto.commit": False,
        "session.timeout.ms": 6000,
    }
)
producer = Producer({"bootstrap.servers": endpoints, "transactional.id": f"pay-{instance}"})
producer.init_transactions()
consumer.subscribe([orders])
while True:
    messages = [message for message in consumer.consume(50, 0.2) if message.error() is None]
    if not messages:
        continue
    producer.begin_transaction()
    for message in messages:
        time.sleep(0.002)  # work
        producer.produce(payments, message.value(), message.key())
        producer.poll(0)
    producer.send_offsets_to_transaction(consumer.position(consumer.assignment()), consumer.consumer_group_metadata())
    producer.commit_transaction()
