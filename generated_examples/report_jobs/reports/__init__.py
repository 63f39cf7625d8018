"""What a report is."""
