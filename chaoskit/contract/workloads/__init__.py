"""What a workload implements, and the words in which it is described: data models, topics, traits."""
