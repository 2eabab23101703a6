"""Runs workflows on this machine: each step's own command, in the environment that the steps before it made, against a local GitHub."""
