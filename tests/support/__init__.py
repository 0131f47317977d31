"""What tests share: databases, drivers, scenes, and processes that are started beside them."""
