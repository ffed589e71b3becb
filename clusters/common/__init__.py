"""What several systems share: artifacts from Maven, Java, properties files, wire framing, what faults do to data."""
