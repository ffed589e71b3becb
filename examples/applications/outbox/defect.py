"""Pays orders, and announces the payments on a topic, one after the other. A crash in between loses the announcement:
the order is read again, is paid already, and is left alone.
"""

import sys
import time

import psycopg
from confluent_kafka import Consumer, Producer

endpoints, orders, payments, url = sys.argv[1:5]
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
database = psycopg.connect(url, autocommit=True, connect_timeout=3, keepalives_idle=2, tcp_user_timeout=5000)
consumer.subscribe([orders])
while True:
    messages = [message for message in consumer.consume(20, 0.1) if message.error() is None]
    paid, reports = [], []
    for message in messages:
        order = message.value().decode()
        time.sleep(0.015)  # work
        if database.execute("insert into payments values (%s) on conflict do nothing", (order,)).rowcount:
            paid.append(order)
    for order in paid:
        producer.produce(payments, order, on_delivery=lambda error, _: reports.append(error))
    producer.flush()
    if any(reports):
        raise RuntimeError(f"not delivered: {reports}")
    if messages:
        consumer.commit(asynchronous=False)
