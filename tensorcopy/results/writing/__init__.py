"""Write results: one writer at a time, each file as a whole, each pass added to what is there."""
