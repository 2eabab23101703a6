"""What this package is about: how to copy a tensor. Everything else measures any suite over torch releases, and does not know it."""
