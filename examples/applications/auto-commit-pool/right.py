"""Pays orders with a pool of threads, and commits up to the first one that is not done."""

import sys
import time
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor

from confluent_kafka import Consumer, Message, Producer

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


def pay(message: Message) -> None:
    stored: Future[None] = Future()
    time.sleep(2)  # somebody else's answer
    producer.produce(
        payments,
        message.value(),
        message.key(),
        on_delivery=lambda error, _: (
            stored.set_exception(RuntimeError(str(error))) if error else stored.set_result(None)
        ),
    )
    while not stored.done():
        producer.poll(0.05)
    stored.result()


waiting: dict[int, deque[tuple[Message, Future[None]]]] = {}
consumer.subscribe([orders], on_revoke=lambda *_: waiting.clear())
with ThreadPoolExecutor(200) as pool:
    while True:
        for message in consumer.consume(50, 0.2):
            if message.error() is None:
                waiting.setdefault(message.partition(), deque()).append((message, pool.submit(pay, message)))
        for queue in list(waiting.values()):
            done = None
            while queue and queue[0][1].done():
                done, payment = queue.popleft()
                payment.result()
            if done is not None:
                consumer.commit(message=done, asynchronous=True)
