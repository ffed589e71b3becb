"""Cyclone DDS: publish and subscribe between peers, without a broker."""

from clusters.cyclonedds.system import CycloneSystem

__all__ = ["CycloneSystem"]
