"""A system's own (Java) clients, each in a JVM of its own that relays between the client and its worker."""
