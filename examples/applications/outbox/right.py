"""Pays orders, and announces the payments on a topic. Payment and announcement are one transaction of the database; a
relay publishes what is in the outbox, at least once.
"""

import os
import sys
import threading
import time

import psycopg
from confluent_kafka import Consumer, Producer

endpoints, orders, payments, url = sys.argv[1:5]


def connect() -> psycopg.Connection:
    return psycopg.connect(url, autocommit=True, connect_timeout=3, keepalives_idle=2, tcp_user_timeout=5000)


def publish(producer: Producer, database: psycopg.Connection) -> None:
    reports = []
    with database.transaction():
        database.execute("select pg_advisory_xact_lock(1)")  # one relay at a time keeps the order
        rows = database.execute("select number, order_id from outbox order by number limit 500").fetchall()
        for _, order in rows:
            producer.produce(payments, order, on_delivery=lambda error, _: reports.append(error))
        producer.flush()
        if any(reports):
            raise RuntimeError(f"not delivered: {reports}")
        database.execute("delete from outbox where number = any(%s)", ([number for number, _ in rows],))


def relay() -> None:
    try:
        database = connect()
        database.execute("set idle_in_transaction_session_timeout = '10s'")  # who loses power keeps no lock
        producer = Producer({"bootstrap.servers": endpoints, "enable.idempotence": True})
        while True:
            publish(producer, database)
            time.sleep(0.1)
    finally:
        os._exit(1)  # the supervisor starts both again


threading.Thread(target=relay, daemon=True).start()
consumer = Consumer(
    {
        "bootstrap.servers": endpoints,
        "group.id": "pay",
        "auto.offset.reset": "earliest",
        "enable.auto.commit": False,
        "session.timeout.ms": 6000,
    }
)
database = connect()
consumer.subscribe([orders])
while True:
    messages = [message for message in consumer.consume(20, 0.1) if message.error() is None]
    for message in messages:
        order = (message.value().decode(),)
        time.sleep(0.015)  # work
        with database.transaction():
            if database.execute("insert into payments values (%s) on conflict do nothing", order).rowcount:
                database.execute("insert into outbox (order_id) values (%s)", order)
    if messages:
        consumer.commit(asynchronous=False)
