"""Calls of models as OpenTelemetry reports them, in all its dialects."""
