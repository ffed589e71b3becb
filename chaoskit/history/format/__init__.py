"""What a history is made of: schemas, records, payloads, audits."""
