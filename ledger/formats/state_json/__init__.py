"""The state of a session as one JSON object, in the shape of seed 000."""
