"""Data files: times as CSV, a machine's JSON, the Atom feed, the badge."""
