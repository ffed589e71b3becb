"""Pays orders into a database. A payment that is there already is left alone; orders are committed after payments."""

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
database = psycopg.connect(url, connect_timeout=3, keepalives_idle=2)
consumer.subscribe([orders])
while True:
    messages = [message for message in consumer.consume(50, 0.2) if message.error() is None]
    if messages:
        time.sleep(0.004 * len(messages))  # work
        payments = [(message.value().decode(),) for message in messages]
        database.cursor().executemany("insert into payments values (%s) on conflict do nothing", payments)
        database.commit()
        consumer.commit(asynchronous=False)
