"""A process of its own that sends: `DATABASE RPC KEY send PREFIX COUNT` or `… die INTENT`."""

from __future__ import annotations

import os
import signal
import sys

from engine import install, settings
from engine.chain import sender
from engine.chain.client import Call, Chain, address_of
from engine.chain.keys import Key

SOMEONE = "0x00000000000000000000000000000000000A11cE"


def main(database_url: str, rpc_url: str, private_key: str, what: str, *words: str) -> None:
    given = {"STAGE": "dev", "DATABASE_URL": database_url, "OPERATOR_KEY": private_key}
    install.configure(settings.load({}, given))
    chain = Chain(rpc_url, timeout_seconds=60)
    key = Key(address_of(private_key), private_key)
    if what == "die":
        Chain.broadcast = lambda *_: os.kill(os.getpid(), signal.SIGKILL)  # type: ignore[assignment,method-assign,return-value]
        sender.send(chain, key, words[0], Call(SOMEONE.lower(), b"", 1), lambda _: None)
    prefix, count = words
    for number in range(int(count)):
        call = Call(SOMEONE.lower(), b"", 1)
        sender.send(chain, key, f"{prefix}:{number}", call, lambda _: None)
    install.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
