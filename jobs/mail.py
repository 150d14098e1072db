"""Mail, by SMTP, from commands (H-14). Without MUSTER_SMTP_URL nothing is sent."""

from __future__ import annotations

import smtplib
import ssl
from email.message import EmailMessage
from email.utils import formatdate, make_msgid
from urllib.parse import unquote, urlsplit

import structlog

from engine import commands, install
from engine.models.command import Command
from engine.passwords import MAIL

TIMEOUT_SECONDS = 15
RETRY_SECONDS = 30

log = structlog.get_logger()


@commands.handler(MAIL)
def step(command: Command) -> commands.Outcome:
    """Send one letter. A server that is away is tried again; a refused address is not."""
    arguments = command.arguments
    body = install.current().keyring.decrypt(arguments["encrypted_body"])
    try:
        _send(arguments["to"], arguments["subject"], body, command.id)
    except (smtplib.SMTPRecipientsRefused, smtplib.SMTPSenderRefused) as error:
        log.warning("mail.refused", command_id=command.id, error=type(error).__name__)
        return commands.Done({"sent": False})
    except (OSError, smtplib.SMTPException) as error:
        log.warning("mail.unavailable", command_id=command.id, error=type(error).__name__)
        return commands.Wait(RETRY_SECONDS)
    return commands.Done({"sent": True})


def _send(to: str, subject: str, body: str, command_id: str) -> None:
    settings = install.current().settings
    where = urlsplit(settings.SMTP_URL)
    letter = EmailMessage()
    # EmailMessage refuses line breaks in a header, so none can be injected.
    letter["From"], letter["To"], letter["Subject"] = settings.MAIL_FROM, to, subject
    letter["Date"] = formatdate()
    # The same on every try: a receiver that got it twice can tell.
    letter["Message-ID"] = make_msgid(command_id, settings.MAIL_FROM.rpartition("@")[2])
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
        if not secure and client.has_extn("starttls"):
            client.starttls(context=context)
        if where.username:
            client.login(unquote(where.username), unquote(where.password or ""))
        client.send_message(letter)
