"""The suites, one per file. `cases.py` makes the tensors and times the code."""
