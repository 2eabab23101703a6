"""Keep values and pages from one publish to the next, by the content of the files that they are made from."""
