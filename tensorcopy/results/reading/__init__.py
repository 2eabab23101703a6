"""Read files that anybody may have written: limits of size and depth, schemas, and whether a file agrees with itself."""
