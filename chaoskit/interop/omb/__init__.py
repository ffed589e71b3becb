"""The OpenMessaging Benchmark: its workloads and drivers are run, and results are written as it writes them."""
