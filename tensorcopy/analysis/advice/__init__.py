"""What to use: which methods match a request, and which is recommended."""
