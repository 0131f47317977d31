"""Record calls of models as they are reported."""
