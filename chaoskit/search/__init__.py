"""Many runs: sweeps, shrinking, crash points."""
