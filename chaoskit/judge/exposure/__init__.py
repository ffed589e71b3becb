"""On how many disks each message was, and what a power cut would have cost."""
