"""The checker of topics that keep nothing: who was subscribed when decides what must have arrived."""

from checkers.pubsub.checker import PubSubChecker

__all__ = ["PubSubChecker"]
