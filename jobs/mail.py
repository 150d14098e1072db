"""Mail, by SMTP, from commands (H-14, U-02). Without MUSTER_SMTP_URL nothing is sent."""

from __future__ import annotations

import re
import smtplib
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from email.errors import MessageError
from email.headerregistry import Address
from email.message import EmailMessage
from email.utils import formatdate
from urllib.parse import unquote, urlsplit

import idna
import structlog

from engine import clock, commands, install, letters
from engine.models.command import Command

# For each answer of the server, and for all of them together: less than a command's lease, since
# another process sends it after that.
TIMEOUT_SECONDS = 10
LONGEST_SECONDS = 20
# A server that is away is tried again ever later: after half the letter's age.
LEAST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 15, 1800
# From here on a reply of an SMTP server is for good; below, it may be another next time.
PERMANENT = 500

_BEYOND_ASCII = re.compile("[^\x00-\x7f]")

log = structlog.get_logger()

# A server that hangs then holds one thread of the commands for each kind, and not all of them.
_lanes = {kind: threading.Lock() for kind in letters.TURN_SECONDS}


def step(command: Command) -> commands.Outcome:
    """Send one letter, at least once. A server that is away is tried again while it is of use."""
    if clock.now() >= command.arguments["until"]:
        log.warning("mail.too_late", command_id=command.id)
        return commands.Done({"sent": False})
    if not _lanes[command.kind].acquire(blocking=False):
        return commands.Wait(letters.TURN_SECONDS[command.kind])
    try:
        outcome = _try(command)
    finally:
        _lanes[command.kind].release()
    if isinstance(outcome, commands.Done):
        letters.wake_next(command.kind)
    return outcome


def _try(command: Command) -> commands.Outcome:
    arguments = command.arguments
    body = install.current().keyring.decrypt(arguments["encrypted_body"])
    try:
        to = _address(arguments["to"])
        _send(to, _letter(to, arguments["subject"], body, command.id))
    except (OSError, smtplib.SMTPException, ValueError, MessageError) as error:
        # Addresses stay out of the log, and so do the server's words, which repeat them.
        if _is_final(error):
            log.warning("mail.refused", command_id=command.id, error=type(error).__name__)
            return commands.Done({"sent": False})
        log.warning("mail.unavailable", command_id=command.id, error=type(error).__name__)
        return commands.Wait(_pause_seconds(command))
    return commands.Done({"sent": True})


def _pause_seconds(command: Command) -> float:
    age = (clock.now() - command.created_at) / clock.SECOND
    return min(max(LEAST_PAUSE_SECONDS, age / 2), LONGEST_PAUSE_SECONDS)


def _is_final(error: Exception) -> bool:
    """Would the same letter be refused again?"""
    match error:
        case smtplib.SMTPRecipientsRefused():
            return all(code >= PERMANENT for code, _ in error.recipients.values())
        case smtplib.SMTPSenderRefused() | smtplib.SMTPDataError():
            return int(error.smtp_code) >= PERMANENT
        case smtplib.SMTPNotSupportedError():
            # An address beyond ASCII, and a server that does not know such.
            return True
        case _:
            # No letter can be made of it; everything else may pass.
            return not isinstance(error, OSError)


def _address(text: str) -> str:
    """The address as every server knows it: its domain in ASCII, whatever is before it as it is."""
    name, _, domain = text.rpartition("@")
    return text if domain.isascii() else f"{name}@{idna.encode(domain, uts46=True).decode()}"


def _one(to: str) -> Address | str:
    """An Address is one address or an error: no line break and no second recipient gets through.

    It knows no letters beyond ASCII, so there it is asked about others in their places.
    """
    asked = Address(addr_spec=_BEYOND_ASCII.sub("x", to))
    return asked if to.isascii() else to


def _letter(to: str, subject: str, body: str, command_id: str) -> EmailMessage:
    sender = install.current().settings.MAIL_FROM
    letter = EmailMessage()
    letter["From"], letter["To"] = Address(addr_spec=sender), _one(to)
    letter["Subject"], letter["Date"] = subject, formatdate()
    # The same on every try: a receiver that got it twice can tell.
    letter["Message-ID"] = f"<{command_id}@{sender.rpartition('@')[2]}>"
    # Whoever is away need not say so (RFC 3834).
    letter["Auto-Submitted"] = "auto-generated"
    letter.set_content(body, cte="quoted-printable")
    return letter


def _send(to: str, letter: EmailMessage) -> None:
    settings = install.current().settings
    where = urlsplit(settings.SMTP_URL)
    host, secure = where.hostname or "localhost", where.scheme == "smtps"
    context = ssl.create_default_context()
    if secure:
        client: smtplib.SMTP = smtplib.SMTP_SSL(
            host, where.port or 465, timeout=TIMEOUT_SECONDS, context=context
        )
    else:
        client = smtplib.SMTP(host, where.port or 25, timeout=TIMEOUT_SECONDS)
    try:
        with _cut_off(client):
            # The server's extensions are known only once it was greeted.
            client.ehlo_or_helo_if_needed()
            if not secure and client.has_extn("starttls"):
                client.starttls(context=context)
            if where.username:
                client.login(unquote(where.username), unquote(where.password or ""))
            client.send_message(letter, settings.MAIL_FROM, [to])
            # It is sent, whatever the server says to this.
            with suppress(OSError, smtplib.SMTPException):
                client.quit()
    finally:
        client.close()


@contextmanager
def _cut_off(client: smtplib.SMTP) -> Iterator[None]:
    """End the connection when it has taken too long, however slowly the server still answers."""

    def cut() -> None:
        if client.sock is not None:
            with suppress(OSError):
                client.sock.shutdown(socket.SHUT_RDWR)

    timer = threading.Timer(LONGEST_SECONDS, cut)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
