"""A history replayed under another config: what-ifs and backtests."""
