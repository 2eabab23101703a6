"""Parts of the change-point detector: candidates for steps, and their tests."""
