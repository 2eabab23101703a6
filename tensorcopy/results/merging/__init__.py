"""Divide and merge result files, so that a file has the passes of one machine and all of them."""
