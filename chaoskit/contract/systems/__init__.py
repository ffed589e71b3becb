"""What a system implements: what it is, how it is deployed and reached, what operators can do with it."""
