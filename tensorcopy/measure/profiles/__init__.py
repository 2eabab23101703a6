"""Taking function profiles."""
