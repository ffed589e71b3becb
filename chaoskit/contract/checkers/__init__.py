"""What a checker implements, and the anomalies that it detects."""
