"""The functions behind a change."""
