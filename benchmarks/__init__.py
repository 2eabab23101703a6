"""What is measured, one suite a page. `cases.py` makes the tensors; every suite's body is one act."""
