"""Which addresses and URLs a webhook may go to."""

from __future__ import annotations

import ipaddress

import pytest

from engine.rules import addresses
from jobs.guard import Policy

PORTS = {80, 443}


def words(text: str) -> list[str]:
    return text.split()


INNER = words("""
0.0.0.0 0.1.2.3 127.0.0.1 127.255.255.254 10.0.0.1 172.16.0.1 172.31.255.255 192.168.1.1
100.64.0.1 100.100.100.200 169.254.169.254 168.63.129.16 192.0.0.192 192.0.2.1 198.51.100.7
203.0.113.9 192.88.99.1 198.18.0.1 224.0.0.1 239.255.255.255 240.0.0.1 255.255.255.255
:: ::1 ::ffff:127.0.0.1 ::ffff:8.8.8.8 ::127.0.0.1 ::8.8.8.8 64:ff9b::7f00:1 64:ff9b::808:808
64:ff9b:1::1 100::1 fc00::1 fd00:ec2::254 fe80::1 fec0::1 ff02::1 2001::1 2001:2::1 2001:10::1
2001:1ff::1 2001:db8::1 2002:7f00:1::1 3fff::1 3ffe::1 4000::1 5f00::1 fe80::1%eth0
""")
OUTER = words("""
1.1.1.1 8.8.8.8 100.63.255.255 100.128.0.1 172.15.0.1 172.32.0.1 168.63.129.17 192.0.1.1
223.255.255.255 2606:4700:4700::1111 2a00:1450:4001::1 2001:200::1 2001:4860:4860::8888
""")
# F19, and other ways to write the same.
LOOPBACK_URLS = words("""
http://127.0.0.1/ http://[::1]/ http://[::ffff:127.0.0.1]/ http://[::ffff:7f00:1]/
http://0x7f000001/ http://0X7F.1/ http://2130706433/ http://127.1/ http://0177.0.0.1/
http://127.0.0.1./ http://localhost/ http://LOCALHOST./ http://hooks.localhost/
http://１２７.0.0.1/ http://127。0。0。1/
""")
INNER_URLS = words("""
http://169.254.169.254/latest/meta-data http://10.0.0.1/ http://[fd00:ec2::254]/
http://[64:ff9b::7f00:1]/ http://[2002:7f00:1::]/ http://0xa9fea9fe/ http://2852039166/
""")
NEVER_URLS = [
    *words("""
http://[::]/ http://0.0.0.0/ http://0/ http://[::ffff:0.0.0.0]/ http://224.0.0.1/ http://[ff02::1]/
http://user@10.0.0.1/ http://user:pass@example.com/ http://@example.com/ file:///etc/passwd
gopher://example.com/ ftp://example.com/ javascript:alert(1) //example.com/ example.com http:///x
http:// http://[::1 http://[v1.x]/ http://[fe80::1%25eth0]/ http://1.2.3.999/ http://1.2.3.4.5/
http://a..b/ http://*.example.com/ http://example.com:99999/ http://example.com:x/ http://0x/
http://%31%32%37.0.0.1/ http://example.com\\@127.0.0.1/
"""),
    "",
    "http://exa mple.com/",
    "http://example.com/\n",
    "\thttp://example.com/",
    "http://example.com/\x00",
    "http://example.com/\u2028",
    "http://exam\u200bple.com/",
    "http://example.com/" + "a" * 2048,
    "http://" + "a" * 64 + ".com/",
    "http://" + "é" * 80 + ".com/",
]


@pytest.mark.rule("W-04")
@pytest.mark.case("F19")
@pytest.mark.parametrize("ip", INNER)
def test_what_is_not_public_is_refused_in_a_sentence(ip: str) -> None:
    why = addresses.why_not_public(ip)
    assert why is not None
    assert why.endswith(".")


@pytest.mark.rule("W-04")
@pytest.mark.parametrize("ip", OUTER)
def test_public_addresses_are_open(ip: str) -> None:
    assert addresses.why_not_public(ip) is None
    assert not addresses.is_loopback(ip)


@pytest.mark.rule("W-04")
def test_nothing_that_python_calls_private_slips_through() -> None:
    for text in [*INNER, *OUTER]:
        if "%" not in text and addresses.why_not_public(text) is None:
            assert ipaddress.ip_address(text).is_global


def test_what_is_no_address_is_refused() -> None:
    for text in ("", "localhost", "1.2.3", "::g"):
        assert addresses.why_not_public(text) == "It is not an IP address."
        assert not addresses.is_loopback(text)


@pytest.mark.rule("W-04")
@pytest.mark.case("F19")
@pytest.mark.parametrize("url", LOOPBACK_URLS)
def test_loopback_in_any_writing_is_refused_unless_the_setting_opens_it(url: str) -> None:
    assert addresses.check_url(url, ports=PORTS, allow="public") is not None
    assert addresses.check_url(url, ports=PORTS, allow="loopback") is None
    assert addresses.check_url(url, ports=PORTS, allow="private") is None


@pytest.mark.rule("W-04")
@pytest.mark.case("F19")
@pytest.mark.parametrize("url", INNER_URLS)
def test_inner_addresses_are_refused_unless_the_setting_opens_them(url: str) -> None:
    assert addresses.check_url(url, ports=PORTS, allow="public") is not None
    assert addresses.check_url(url, ports=PORTS, allow="loopback") is not None
    assert addresses.check_url(url, ports=PORTS, allow="private") is None


@pytest.mark.rule("W-04")
@pytest.mark.case("F19")
@pytest.mark.parametrize("url", NEVER_URLS)
@pytest.mark.parametrize("allow", ["public", "loopback", "private"])
def test_no_setting_opens_these(url: str, allow: addresses.Allow) -> None:
    why = addresses.check_url(url, ports=PORTS, allow=allow)
    assert why is not None
    assert why.endswith(".")


@pytest.mark.rule("W-04")
@pytest.mark.parametrize(
    "url",
    [
        "https://example.com/hook?a=b#c",
        "HTTP://Example.COM",
        "http://8.8.8.8:80/",
        "https://[2606:4700:4700::1111]/",
        "https://bücher.example/",
        "https://my_host.example./x@y",
        "https://example.com/%20",
    ],
)
def test_ordinary_urls_are_open(url: str) -> None:
    assert addresses.check_url(url, ports=PORTS, allow="public") is None


@pytest.mark.rule("W-04")
@pytest.mark.parametrize(
    ("url", "public", "loopback", "private"),
    [
        ("http://example.com:8080/", False, False, True),
        ("http://example.com:0/", False, False, True),
        ("http://127.0.0.1:8080/", False, True, True),
        ("http://localhost:8080/", False, True, True),
        ("http://8.8.8.8:22/", False, False, True),
        ("http://10.0.0.1:8080/", False, False, True),
        ("https://example.com:80/", True, True, True),
    ],
)
def test_ports_bind_public_hosts(url: str, public: bool, loopback: bool, private: bool) -> None:
    for allow, open_ in (("public", public), ("loopback", loopback), ("private", private)):
        assert (addresses.check_url(url, ports=PORTS, allow=allow) is None) is open_, allow


@pytest.mark.rule("W-04")
def test_the_gate_before_the_connection_knows_ports_too() -> None:
    public = Policy(frozenset({443}), "public")
    assert public.check_address("8.8.8.8", 443) is None
    assert public.check_address("8.8.8.8", 22) is not None
    assert public.check_address("::ffff:127.0.0.1", 443) is not None
    loopback = Policy(frozenset({443}), "loopback")
    assert loopback.check_address("127.0.0.1", 9999) is None
    assert loopback.check_address("8.8.8.8", 9999) is not None
    assert Policy(frozenset(), "private").check_address("10.0.0.1", 9999) is None


@pytest.mark.rule("W-04")
@pytest.mark.case("F19")
def test_a_name_may_be_reached_only_if_all_its_addresses_may() -> None:
    policy = Policy(frozenset({443}), "public")
    assert policy.check_name("a.example", ["8.8.8.8", "1.1.1.1"]) is None
    why = policy.check_name("a.example", ["8.8.8.8", "10.1.2.3"])
    assert why is not None
    assert "10.1.2.3" not in why


@pytest.mark.rule("W-04")
def test_where_loopback_is_open_only_this_machines_own_names_lead_there() -> None:
    policy = Policy(frozenset({443}), "loopback")
    assert policy.check_name("localhost", ["::1", "127.0.0.1"]) is None
    assert policy.check_name("evil.example", ["127.0.0.1"]) is not None
    assert policy.check_name("localhost", ["10.0.0.1"]) is not None
    assert Policy(frozenset(), "private").check_name("intra.example", ["10.0.0.1"]) is None
