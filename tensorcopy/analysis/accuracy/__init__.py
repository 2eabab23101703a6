"""How often `compare` and `history` are right, on data with known changes, beside asv's detection."""
