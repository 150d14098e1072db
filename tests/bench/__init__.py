"""How fast Muster is, beside what the same machine could do at best in the same minutes.

`python -m tests.bench` runs all of it. A number alone says little on a machine that others use as
well, so every rate stands beside a limit that was measured in turns with it, and the ratio is what
counts. Nothing here fails because it was slow.
"""
