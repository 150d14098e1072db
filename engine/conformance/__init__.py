"""What every distribution mode must keep, as tests that its author runs with pytest.

    from engine.conformance import ModeSuite
    import my_mode

    class TestMyMode(ModeSuite):
        mode = my_mode

It needs no server, no chain and no network: a mode is asked by itself first, and then plays the
life of tasks in a real engine over SQLite, in a folder that pytest removes. `plugins/README.md`
says how a mode is written. Only this package needs pytest, the extra `testing` of `setup.cfg`.
"""

from __future__ import annotations

from engine.conformance.suite import ModeSuite

__all__ = ["ModeSuite"]
