"""The content: methods of copying a tensor, what they do, and which one to use."""

BASELINE = "baseline"  # the name of the memcpy baseline beside the methods in times and plots
