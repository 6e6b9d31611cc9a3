"""How much is tried: the same few inputs in every run, or many others with FUZZ_PROFILE=long."""

import os

from hypothesis import HealthCheck, settings

ALWAYS = dict(deadline=None, database=None, suppress_health_check=list(HealthCheck))
settings.register_profile("suite", max_examples=100, derandomize=True, **ALWAYS)
settings.register_profile("long", max_examples=20_000, **ALWAYS)
settings.load_profile(os.environ.get("FUZZ_PROFILE", "suite"))
