"""The faults of a run: scheduled, claimed, injected, proved, healed, recorded."""
