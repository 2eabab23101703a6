"""Write results: one writer at a time, each file as a whole, each pass added to what is there."""

WAITING = "waiting for "  # begins the sentence that reports a wait; `lock` needs filelock, which readers of progress may lack
