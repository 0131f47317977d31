"""Everything about a model: summarizers, embedders, extraction, tokenizers, prices."""
