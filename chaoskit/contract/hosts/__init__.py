"""What hosts implement: commands, power, disks, clocks; and helpers that use them."""
