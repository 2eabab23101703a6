"""The functions that a call runs, and the instructions of each."""

PROBE = "tensorcopy.worker.probes.functions.function_profile"
