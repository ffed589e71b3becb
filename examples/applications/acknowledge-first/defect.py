"""Pays orders that instances share, in a pool of threads. An order is acknowledged when a thread has it."""

import random
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from threading import BoundedSemaphore

import pulsar

endpoints, orders, payments = sys.argv[1:4]
client = pulsar.Client(endpoints)
producer = client.create_producer(payments)
consumer = client.subscribe(orders, "pay", pulsar.ConsumerType.Shared, initial_position=pulsar.InitialPosition.Earliest)
room = BoundedSemaphore(60)


def pay(message: pulsar.Message) -> None:
    time.sleep(random.uniform(0.1, 1))  # work
    producer.send(message.data())
    room.release()


with ThreadPoolExecutor(60) as pool:
    while True:
        room.acquire()
        message = consumer.receive()
        consumer.acknowledge(message)
        pool.submit(pay, message)
