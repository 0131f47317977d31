"""The release of this package, which answers and files name; it imports nothing, as the package does at first."""

RELEASE = "0.1.0"
