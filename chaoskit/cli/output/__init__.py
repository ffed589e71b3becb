"""What verbs print: lines, tables, progress, summaries."""
