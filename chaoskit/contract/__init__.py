"""The plug-in API: protocols and records, one concept per file. Start reading here."""
