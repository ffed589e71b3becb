"""Pays orders. RabbitMQ takes an order for acknowledged as soon as it is sent."""

import sys
import time
from typing import Any

import pika

endpoints, orders, payments = sys.argv[1:4]
connection = pika.BlockingConnection([pika.URLParameters(url) for url in endpoints.split(",")])
channel = connection.channel()
channel.confirm_delivery()


def pay(channel: Any, method: Any, properties: Any, body: bytes) -> None:
    time.sleep(0.025)  # work
    channel.basic_publish("", payments, body, pika.BasicProperties(delivery_mode=2), mandatory=True)


channel.basic_consume(orders, pay, auto_ack=True)
channel.start_consuming()
