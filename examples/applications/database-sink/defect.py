"""Pays orders into a database, each by itself. Orders whose payments were stored before a crash are paid again."""

import sys
import time

import psycopg
from confluent_kafka import Consumer

endpoints, orders, url = sys.argv[1:4]
consumer = Consumer(
    {
        "bootstrap.servers": endpoints,
        "group.id": "pay",
        "auto.offset.reset": "earliest",
        "enable.auto.commit": False,
        "session.timeout.ms": 6000,
    }
)
database = psycopg.connect(url, autocommit=True, connect_timeout=3, keepalives_idle=2)
consumer.subscribe([orders])
while True:
    messages = [message for message in consumer.consume(50, 0.2) if message.error() is None]
    for message in messages:
        time.sleep(0.004)  # work
        database.execute("insert into payments values (%s)", (message.value().decode(),))
    if messages:
        consumer.commit(asynchronous=False)
