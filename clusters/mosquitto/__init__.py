"""Mosquitto from Debian's packages: an MQTT broker on one host."""

from clusters.mosquitto.system import MosquittoSystem

__all__ = ["MosquittoSystem"]
