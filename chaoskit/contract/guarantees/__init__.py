"""What settings promise and allow: guarantees, rules and the mechanisms that rules name."""
