"""Code shared by several systems: Maven artifacts, Java, properties files, wire framing, damage of faults."""
