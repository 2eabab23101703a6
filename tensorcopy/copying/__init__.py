"""The content: methods of copying a tensor, what they do, and which one to use."""

LAYOUTS = ("contiguous", "transposed", "strided", "channels_last")  # of a tensor that is copied; "strided" is every second element
BASELINE = "baseline"  # the name of the memcpy baseline beside the methods in times and plots
