"""The function profiles beside the results."""
