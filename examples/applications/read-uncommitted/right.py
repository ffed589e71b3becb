"""Checks orders, and pays those that are checked, both in transactions; it pays what is checked for good."""

import sys
import threading
import time

from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import AdminClient, NewTopic

endpoints, orders, payments, instance = sys.argv[1:5]
checked = f"{orders}-checked"
admin = AdminClient({"bootstrap.servers": endpoints})
for made in admin.create_topics([NewTopic(checked, 3, 3)]).values():
    made.exception()  # the other instance may have made it


def copy(source: str, target: str, group: str, isolation: str, work_s: float) -> None:
    consumer = Consumer(
        {
            "bootstrap.servers": endpoints,
            "group.id": group,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "session.timeout.ms": 6000,
            "isolation.level": isolation,
            "topic.metadata.refresh.interval.ms": 1000,
        }
    )
    producer = Producer({"bootstrap.servers": endpoints, "transactional.id": f"{group}-{instance}"})
    producer.init_transactions()
    consumer.subscribe([source])
    while True:
        messages = [message for message in consumer.consume(50, 0.05) if message.error() is None]
        if not messages:
            continue
        producer.begin_transaction()
        for message in messages:
            time.sleep(work_s)
            producer.produce(target, message.value(), message.key())
            producer.poll(0)
        producer.send_offsets_to_transaction(
            consumer.position(consumer.assignment()), consumer.consumer_group_metadata()
        )
        producer.commit_transaction()


threading.Thread(target=copy, args=(orders, checked, "check", "read_committed", 0.007), daemon=True).start()
copy(checked, payments, "pay", "read_committed", 0)
