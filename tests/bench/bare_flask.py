"""The HTTP limit: Flask with one trivial route behind the same server as `muster serve`."""

from __future__ import annotations

import sys

from flask import Flask, request

from engine.settings import Settings
from web.server import listen

ANSWER = {"status": "queued", "message_id": "TASK_01K00000000000000000000000", "priority": 1000}


def main() -> None:
    app = Flask("bare")

    @app.post("/bare/<name>")
    def bare(name: str) -> dict[str, object]:
        request.get_data()
        return ANSWER

    listen(app, "127.0.0.1", int(sys.argv[1]), Settings.SERVER_THREADS).run()


if __name__ == "__main__":
    main()
