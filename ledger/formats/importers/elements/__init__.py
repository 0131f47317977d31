"""What formats are made of, shared by importers: documents, messages of providers, calls, histories, steps."""
