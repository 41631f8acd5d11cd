"""What holds for every test: no property is judged by the clock.

Hypothesis by itself fails a test when one example takes more than 200 ms, or when examples are slow to make.
On a busy machine either may happen to a test of two lines.
"""

from __future__ import annotations

from hypothesis import HealthCheck, settings

settings.register_profile("vaultbridge", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("vaultbridge")
