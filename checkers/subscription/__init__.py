"""Consumer groups, and subscriptions whose messages are acknowledged one by one."""
