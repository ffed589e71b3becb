"""Pays orders. It acknowledges an order once its payment is confirmed."""

import sys
import time
from typing import Any

import pika

endpoints, orders, payments = sys.argv[1:4]
connection = pika.BlockingConnection([pika.URLParameters(url) for url in endpoints.split(",")])
channel = connection.channel()
channel.confirm_delivery()
channel.basic_qos(prefetch_count=50)


def pay(channel: Any, method: Any, properties: Any, body: bytes) -> None:
    time.sleep(0.025)  # work
    channel.basic_publish("", payments, body, pika.BasicProperties(delivery_mode=2), mandatory=True)
    channel.basic_ack(method.delivery_tag)


channel.basic_consume(orders, pay)
channel.start_consuming()
