"""The cause of a change, as text, JSON and a script that shows it."""
