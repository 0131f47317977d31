"""What is built beside the log and may be dropped: stored projections, the search index, jobs."""
