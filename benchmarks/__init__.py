"""The suites; those of a file are a section of the pages. `cases.py` makes the tensors and times the code."""
