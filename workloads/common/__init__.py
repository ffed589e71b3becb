"""What several workloads share: when sends are due, sizes, reports to the harness."""
