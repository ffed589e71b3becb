"""What each fault did: what was at stake, its consequences, how they are told."""
