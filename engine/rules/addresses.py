"""Where a webhook may go (W-04): which addresses are public, and which URLs may be registered.

A list of what is refused, not `ipaddress.is_global`: that one calls NAT64, 6to4, `::127.0.0.1`,
multicast and 192.0.0.192 global, and no standard knows the metadata services of the clouds.
"""

from __future__ import annotations

import ipaddress
import re
import socket
import unicodedata
from collections.abc import Collection
from typing import Literal
from urllib.parse import urlsplit

Allow = Literal["public", "loopback", "private"]
Address = ipaddress.IPv4Address | ipaddress.IPv6Address

LONGEST_URL = 2048
DEFAULT_PORTS = {"http": 80, "https": 443}

# What is not public, and what to call it. The first that holds the address says why.
_NOT_PUBLIC_V4 = {
    "0.0.0.0/8": "the unspecified address",
    "127.0.0.0/8": "a loopback address",
    "10.0.0.0/8": "an address of a private network",
    "172.16.0.0/12": "an address of a private network",
    "192.168.0.0/16": "an address of a private network",
    "100.64.0.0/10": "an address of a carrier's own network",
    "169.254.0.0/16": "a link-local address",
    "168.63.129.16/32": "an address of a cloud's own services",
    "192.0.0.0/24": "a reserved address",
    "192.0.2.0/24": "an address for documentation",
    "198.51.100.0/24": "an address for documentation",
    "203.0.113.0/24": "an address for documentation",
    "192.88.99.0/24": "a 6to4 relay",
    "198.18.0.0/15": "an address for benchmarks",
    "224.0.0.0/4": "a multicast address",
    "255.255.255.255/32": "the broadcast address",
    "240.0.0.0/4": "a reserved address",
}
# Only 2000::/3 has public addresses; outside it these are named for the reader's sake.
_PUBLIC_V6 = "2000::/3"
_NOT_PUBLIC_V6 = {
    "::/128": "the unspecified address",
    "::1/128": "a loopback address",
    "::ffff:0:0/96": "an IPv4 address written as IPv6",
    "::/96": "an IPv4 address written as IPv6",
    "64:ff9b::/96": "a NAT64 address",
    "64:ff9b:1::/48": "a NAT64 address",
    "fc00::/7": "an address of a private network",
    "fe80::/10": "a link-local address",
    "ff00::/8": "a multicast address",
    "2001::/23": "a reserved address",
    "2001:db8::/32": "an address for documentation",
    "3fff::/20": "an address for documentation",
    "2002::/16": "a 6to4 address",
    "3ffe::/16": "a reserved address",
}
_REFUSED = [
    (ipaddress.ip_network(text), name)
    for text, name in [*_NOT_PUBLIC_V4.items(), *_NOT_PUBLIC_V6.items()]
]
_GLOBAL_UNICAST = ipaddress.ip_network(_PUBLIC_V6)
# Not even private networks use these as the address of one host.
_NO_HOST = [
    ipaddress.ip_network(text)
    for text in ("0.0.0.0/8", "224.0.0.0/4", "255.255.255.255/32", "::/128", "ff00::/8")
]


def why_not_public(ip: str) -> str | None:
    """A sentence that says why this is not a public address; None if it may be connected to."""
    address = _parse(ip)
    if address is None:
        return "It is not an IP address."
    for network, name in _REFUSED:
        if address in network:
            return f"It is {name}."
    if address.version == 6 and address not in _GLOBAL_UNICAST:
        return "It is a reserved address."
    return None


def is_loopback(ip: str) -> bool:
    """127.0.0.0/8 and ::1, also where the former is written as IPv6."""
    address = _parse(ip)
    return address is not None and _unmapped(address).is_loopback


def why_not_allowed(ip: str, allow: Allow) -> str | None:
    """`why_not_public`, under the setting: loopback or all private addresses may be open too."""
    if allow == "private":
        address = _parse(ip)
        if address is not None and not any(_unmapped(address) in net for net in _NO_HOST):
            return None
    if allow == "loopback" and is_loopback(ip):
        return None
    return why_not_public(ip)


def literal(host: str) -> str | None:
    """The address that a URL's host is, in its usual form; None if it is a name.

    Resolvers also take `127.1`, `2130706433` and `0x7f000001` for 127.0.0.1.
    """
    address = _parse(host)
    if address is None:
        try:
            address = ipaddress.IPv4Address(socket.inet_aton(host.removesuffix(".")))
        except (OSError, ValueError):
            return None
    return str(address)


def is_loopback_host(host: str) -> bool:
    """A loopback address, or a name that RFC 6761 keeps for one."""
    ip = literal(host)
    if ip is not None:
        return is_loopback(ip)
    name = host.lower().removesuffix(".")
    return name == "localhost" or name.endswith(".localhost")


def check_url(url: str, *, ports: Collection[int], allow: Allow) -> str | None:
    """A sentence that says why a webhook may not go to this URL; None if it may (F19).

    What a name resolves to is not known here: that is checked when the connection is made.
    `ports` bind public hosts; what `allow` opens beside them may be on any port.
    """
    if len(url) > LONGEST_URL:
        return f"The URL is too long: give at most {LONGEST_URL} characters."
    if any(c.isspace() or c == "\\" or unicodedata.category(c) in ("Cc", "Cf", "Cs") for c in url):
        return "The URL has blanks, backslashes or control characters in it: encode them as %20."
    try:
        parts = urlsplit(url)
        port = DEFAULT_PORTS.get(parts.scheme, 0) if parts.port is None else parts.port
        host = _ascii(parts.hostname or "")
    except ValueError:
        return "The URL is not well formed."
    if parts.scheme not in DEFAULT_PORTS:
        return "The URL must begin with https:// or http://."
    if "@" in parts.netloc:
        return "The URL may not have a user name or password in it."
    ip = literal(host)
    if ip is None and ("[" in parts.netloc or not _is_name(host)):
        return "The URL's host is neither a host name nor an IP address."
    return _why_not_host(host, ip, allow) or _why_not_port(host, port, ports, allow)


def _why_not_host(host: str, ip: str | None, allow: Allow) -> str | None:
    why = None
    if ip is not None:
        why = why_not_allowed(ip, allow)
    elif is_loopback_host(host) and allow == "public":
        why = "It is this machine's own name."
    return None if why is None else f"The URL's host may not be sent webhooks. {why}"


def _why_not_port(host: str, port: int, ports: Collection[int], allow: Allow) -> str | None:
    if port in ports or allow == "private" or (allow == "loopback" and is_loopback_host(host)):
        return None
    listed = ", ".join(str(one) for one in sorted(ports))
    return f"The URL's port {port} may not be sent webhooks; allowed are {listed}."


def _parse(ip: str) -> Address | None:
    # A zone (fe80::1%eth0) never belongs to a public address.
    if "%" in ip:
        return None
    try:
        return ipaddress.ip_address(ip)
    except ValueError:
        return None


def _unmapped(address: Address) -> Address:
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return mapped or address


def _ascii(host: str) -> str:
    """The host as it is looked up: `１２７.1` is 127.1. Raises UnicodeError, a ValueError."""
    return host if host.isascii() else host.encode("idna").decode().lower()


def _is_name(host: str) -> bool:
    """A host name; one whose last label is a number is meant as an address, and is a wrong one."""
    labels = host.removesuffix(".").split(".")
    return (
        len(host) <= 253
        and all(re.fullmatch(r"[a-z0-9_-]{1,63}", label) for label in labels)
        and re.fullmatch(r"[0-9]+|0x[0-9a-f]*", labels[-1]) is None
    )
