"""A real SMTP server, which may be away, slow or unwilling."""

from __future__ import annotations

import asyncio
import threading
from email.message import Message
from typing import Any

from aiosmtpd.controller import Controller
from aiosmtpd.handlers import Message as MessageHandler

from tests.process import free_ports


class Inbox(MessageHandler):
    """Takes letters; answers `replies` to so many first RCPT commands, and `refused` addresses and
    `answers` to so many letters after they came; each letter takes `seconds`."""

    def __init__(self) -> None:
        super().__init__()
        self.letters: list[Message] = []
        self.recipients: list[list[str]] = []
        self.replies: list[str] = []
        self.answers: list[str] = []
        self.refused: set[str] = set()
        self.seen: list[str] = []
        self.seconds = 0.0
        # Set once the first letter comes in.
        self.began = threading.Event()

    async def handle_RCPT(
        self, server: Any, session: Any, envelope: Any, address: str, options: Any
    ) -> str:
        if self.replies:
            return self.replies.pop(0)
        if address in self.refused:
            return "550 no such mailbox"
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server: Any, session: Any, envelope: Any) -> str:
        self.began.set()
        await asyncio.sleep(self.seconds)
        if self.answers:
            self.seen.append(str(super().prepare_message(session, envelope)["Message-ID"]))
            return self.answers.pop(0)
        message = self.prepare_message(session, envelope)
        self.handle_message(message)
        return "250 OK"

    def prepare_message(self, session: Any, envelope: Any) -> Message:
        self.recipients.append(list(envelope.rcpt_tos))
        return super().prepare_message(session, envelope)

    def handle_message(self, message: Message) -> None:
        self.letters.append(message)


class Server:
    """An SMTP server on a port of its own, started and stopped at will."""

    def __init__(self) -> None:
        self.inbox = Inbox()
        (self.port,) = free_ports(1)
        self.url = f"smtp://127.0.0.1:{self.port}"
        self._running: Controller | None = None

    def start(self, *, utf8: bool = True) -> None:
        self._running = Controller(
            self.inbox, hostname="127.0.0.1", port=self.port, enable_SMTPUTF8=utf8
        )
        self._running.start()

    def stop(self) -> None:
        if self._running is not None:
            self._running.stop()
            self._running = None
