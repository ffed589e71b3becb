"""Cyclone DDS: publish and subscribe between peers, without a broker."""

from clusters.cyclonedds.system import System

__all__ = ["System"]
