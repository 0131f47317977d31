"""Work beside requests: compactions and rebuilds, from plan to outcome."""
