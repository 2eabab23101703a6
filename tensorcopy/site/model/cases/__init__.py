"""One case: its changes, its siblings, and its section on a page."""
