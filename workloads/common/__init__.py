"""Code shared by several workloads: send schedules, sizes, reports to the harness."""
