"""The clients of a pipeline of queues. An application takes its inputs away, so what it does is read from its
connections, and it ends before the final read, which drains all queues."""
