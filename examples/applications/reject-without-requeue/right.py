"""Pays orders by HTTP. An order that could not be paid goes back into its queue, after a while."""

import sys
import time
import urllib.error
import urllib.request
from typing import Any

import pika

endpoints, orders, url = sys.argv[1:4]
connection = pika.BlockingConnection([pika.URLParameters(node) for node in endpoints.split(",")])
channel = connection.channel()
channel.basic_qos(prefetch_count=10)


def pay(channel: Any, method: Any, properties: Any, body: bytes) -> None:
    try:
        urllib.request.urlopen(url, data=body, timeout=5).close()
    except urllib.error.URLError:
        time.sleep(0.5)
        channel.basic_nack(method.delivery_tag, requeue=True)
    else:
        channel.basic_ack(method.delivery_tag)


channel.basic_consume(orders, pay)
channel.start_consuming()
