"""Mail, by SMTP, from commands (H-14). Without MUSTER_SMTP_URL nothing is sent."""

from __future__ import annotations

import smtplib
import ssl
import threading
from email.headerregistry import Address
from email.message import EmailMessage
from email.utils import formatdate
from urllib.parse import unquote, urlsplit

import structlog

from engine import clock, commands, install
from engine.models.command import Command

TIMEOUT_SECONDS = 10
RETRY_SECONDS = 15
BUSY_SECONDS = 1
# From here on a reply of an SMTP server is for good; below, it may be another next time.
PERMANENT = 500

log = structlog.get_logger()

# A server that hangs then holds one thread of the commands, and not all of them.
_one_at_a_time = threading.Lock()


def step(command: Command) -> commands.Outcome:
    """Send one letter, at least once. A server that is away is tried again while it is of use."""
    if clock.now() >= command.arguments["until"]:
        log.warning("mail.too_late", command_id=command.id)
        return commands.Done({"sent": False})
    if not _one_at_a_time.acquire(blocking=False):
        return commands.Wait(BUSY_SECONDS)
    try:
        return _try(command)
    finally:
        _one_at_a_time.release()


def _try(command: Command) -> commands.Outcome:
    arguments = command.arguments
    body = install.current().keyring.decrypt(arguments["encrypted_body"])
    try:
        _send(arguments["to"], arguments["subject"], body, command.id)
    except (OSError, smtplib.SMTPException, ValueError) as error:
        # Addresses stay out of the log, and so do the server's words, which repeat them.
        if _is_final(error):
            log.warning("mail.refused", command_id=command.id, error=type(error).__name__)
            return commands.Done({"sent": False})
        log.warning("mail.unavailable", command_id=command.id, error=type(error).__name__)
        return commands.Wait(RETRY_SECONDS)
    return commands.Done({"sent": True})


def _is_final(error: Exception) -> bool:
    """Would the same letter be refused again?"""
    match error:
        case smtplib.SMTPRecipientsRefused():
            return all(code >= PERMANENT for code, _ in error.recipients.values())
        case smtplib.SMTPSenderRefused() | smtplib.SMTPDataError():
            return int(error.smtp_code) >= PERMANENT
        case _:
            # No letter can be made of it; everything else may pass.
            return isinstance(error, ValueError) and not isinstance(error, OSError)


def _send(to: str, subject: str, body: str, command_id: str) -> None:
    settings = install.current().settings
    where = urlsplit(settings.SMTP_URL)
    letter = EmailMessage()
    # An Address is one address or an error: no line break and no second recipient gets through.
    letter["From"], letter["To"] = Address(addr_spec=settings.MAIL_FROM), Address(addr_spec=to)
    letter["Subject"], letter["Date"] = subject, formatdate()
    # The same on every try: a receiver that got it twice can tell.
    letter["Message-ID"] = f"<{command_id}@{settings.MAIL_FROM.rpartition('@')[2]}>"
    letter.set_content(body)
    host, secure = where.hostname or "localhost", where.scheme == "smtps"
    context = ssl.create_default_context()
    if secure:
        client: smtplib.SMTP = smtplib.SMTP_SSL(
            host, where.port or 465, timeout=TIMEOUT_SECONDS, context=context
        )
    else:
        client = smtplib.SMTP(host, where.port or 25, timeout=TIMEOUT_SECONDS)
    with client:
        # The server's extensions are known only once it was greeted.
        client.ehlo_or_helo_if_needed()
        if not secure and client.has_extn("starttls"):
            client.starttls(context=context)
        if where.username:
            client.login(unquote(where.username), unquote(where.password or ""))
        client.send_message(letter, settings.MAIL_FROM, [to])
