"""Keeps outgoing requests away from inner addresses (W-04).

Two gates for every connection. The resolver looks a name up once and lets it pass only if all of
its addresses may be reached. The socket factory checks the one address that is about to be
connected to, which also covers hosts that are addresses and never see a resolver. There is no
lookup between the two and none after them.
"""

from __future__ import annotations

import asyncio
import socket
import threading
from dataclasses import dataclass
from typing import Any

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult

from engine.rules import addresses


class AddressRefused(OSError):
    """The message is a sentence that the endpoint's owner may read: it shows no inner address."""


@dataclass(frozen=True)
class Policy:
    """Where webhooks may go: `ports` bind public hosts; `allow` opens others beside them."""

    ports: frozenset[int]
    allow: addresses.Allow

    def check_url(self, url: str) -> str | None:
        return addresses.check_url(url, ports=self.ports, allow=self.allow)

    def check_name(self, host: str, ips: list[str]) -> str | None:
        """A name may be reached if all that it resolves to may.

        Only names that mean this machine may lead to it: else any name of a stranger's would.
        """
        mine = addresses.is_loopback_host(host)
        allow = "public" if self.allow == "loopback" and not mine else self.allow
        for ip in ips:
            why = addresses.why_not_allowed(ip, allow)
            if why is not None:
                return f"The host leads to an address that may not be sent webhooks. {why}"
        return None

    def check_address(self, ip: str, port: int) -> str | None:
        why = addresses.why_not_allowed(ip, self.allow)
        if why is not None:
            return f"The URL's host may not be sent webhooks. {why}"
        beside = addresses.why_not_public(ip) is not None or self.allow == "private"
        return None if beside or port in self.ports else "The URL's port may not be sent webhooks."


class Lookups:
    """Name lookups by the operating system.

    One thread for each name that is being looked up, however many ask for it: a name server that
    does not answer holds a thread for half a minute, and a pool would soon be full of those (W-05).
    """

    def __init__(self) -> None:
        self._running: dict[str, asyncio.Future[list[str] | OSError]] = {}

    async def addresses(self, host: str) -> list[str]:
        """Every address of a host; OSError if there is none."""
        answer = self._running.get(host)
        if answer is None:
            loop = asyncio.get_running_loop()
            answer = self._running[host] = loop.create_future()
            answer.add_done_callback(lambda _: self._running.pop(host, None))
            threading.Thread(
                target=_look_up, args=(host, loop, answer), name="lookup", daemon=True
            ).start()
        # One try that is cut off must not take the answer from the others.
        found = await asyncio.shield(answer)
        if isinstance(found, OSError):
            raise found
        return found


def _look_up(
    host: str, loop: asyncio.AbstractEventLoop, answer: asyncio.Future[list[str] | OSError]
) -> None:
    found: list[str] | OSError
    try:
        infos = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
        found = list(dict.fromkeys(str(info[4][0]) for info in infos))
    except OSError as error:
        found = error
    except UnicodeError:
        found = OSError("not a host name")

    def tell() -> None:
        if not answer.done():
            answer.set_result(found)

    try:
        loop.call_soon_threadsafe(tell)
    except RuntimeError:
        # The loop was stopped meanwhile; nobody waits any more.
        return


class GuardedResolver(AbstractResolver):
    """Gives aiohttp the addresses of a name, or refuses the name."""

    def __init__(self, policy: Policy, lookups: Lookups) -> None:
        self._policy = policy
        self._lookups = lookups

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        ips = await self._lookups.addresses(host)
        why = self._policy.check_name(host, ips)
        if why is not None:
            raise AddressRefused(why)
        return [
            ResolveResult(
                hostname=host,
                host=ip,
                port=port,
                family=socket.AF_INET6 if ":" in ip else socket.AF_INET,
                proto=0,
                flags=socket.AI_NUMERICHOST,
            )
            for ip in ips
        ]

    async def close(self) -> None:
        """Lookups under way end by themselves."""


def connector(policy: Policy, lookups: Lookups) -> aiohttp.TCPConnector:
    """The only way out: every connection of it has passed both gates."""

    def open_socket(info: Any) -> socket.socket:
        family, kind, proto, _, address = info
        why = policy.check_address(str(address[0]), int(address[1]))
        if why is not None:
            raise AddressRefused(why)
        return socket.socket(family=family, type=kind, proto=proto)

    return aiohttp.TCPConnector(
        resolver=GuardedResolver(policy, lookups),
        socket_factory=open_socket,
        # A name that changes is looked up again, and checked again, for each connection.
        use_dns_cache=False,
        # Shorter than most servers keep an idle connection: a POST that meets a closing one fails.
        keepalive_timeout=2,
        # The delivery loop counts tries itself.
        limit=0,
    )
