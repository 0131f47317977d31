"""Background work: compactions nobody ended, memories made of messages, and their way to long-term memory."""
