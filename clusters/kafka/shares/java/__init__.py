"""Members of share groups by Kafka's own client, in a JVM for each."""
