"""Tests of what happened: decisions, folds, codec, input. The Hypothesis profile of all laws is set here."""

from hypothesis import HealthCheck, settings

settings.register_profile(
    "laws",
    print_blob=True,
    derandomize=False,
    deadline=None,
    max_examples=50,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("laws")
