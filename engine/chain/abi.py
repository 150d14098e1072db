"""Encoding and decoding with the committed artifacts. Needs neither a node nor a compiler.

`artifact("Treasury").encode("deposit", [key, units])` is call data;
`artifact("Treasury").decode("pots", answer)` is the tuple that a call returned.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

BUILD = Path(__file__).parent / "contracts" / "build"


@dataclass(frozen=True)
class Item:
    """One function, event or error of a contract."""

    name: str
    types: tuple[str, ...]
    names: tuple[str, ...]
    indexed: tuple[bool, ...]
    outputs: tuple[str, ...]
    digest: bytes  # keccak of the signature: selector = first 4 bytes, event topic = all 32

    @property
    def selector(self) -> bytes:
        return self.digest[:4]


@dataclass(frozen=True)
class Artifact:
    """One compiled contract, its items by name (ours overload nothing)."""

    name: str
    bytecode: bytes
    sources: dict[str, str]
    functions: dict[str, Item]
    events: dict[bytes, Item]
    errors: dict[bytes, Item]
    constructor: tuple[str, ...]

    def encode(self, function: str, values: Sequence[Any]) -> bytes:
        """Call data: selector and arguments."""
        from eth_abi.abi import encode

        item = self.functions[function]
        return item.selector + encode(item.types, values)

    def decode(self, function: str, answer: bytes) -> tuple[Any, ...]:
        """What a call of `function` returned. Raises ValueError for what cannot be its answer."""
        from eth_abi.abi import decode
        from eth_abi.exceptions import DecodingError

        try:
            return tuple(decode(self.functions[function].outputs, answer))
        except DecodingError as error:
            raise ValueError(f"{self.name}.{function} cannot have answered this.") from error

    def creation(self, values: Sequence[Any]) -> bytes:
        """The data of the transaction that creates this contract."""
        from eth_abi.abi import encode

        return self.bytecode + encode(self.constructor, values)


@cache
def artifact(name: str) -> Artifact:
    """`Treasury` or `MockUSDC`, as compiled and committed."""
    built = json.loads((BUILD / f"{name}.json").read_text())
    functions: dict[str, Item] = {}
    events: dict[bytes, Item] = {}
    errors: dict[bytes, Item] = {}
    constructor: tuple[str, ...] = ()
    for entry in built["abi"]:
        if entry["type"] == "constructor":
            constructor = tuple(_type(part) for part in entry["inputs"])
            continue
        item = _item(entry)
        if entry["type"] == "function":
            functions[item.name] = item
        elif entry["type"] == "event":
            events[item.digest] = item
        elif entry["type"] == "error":
            errors[item.selector] = item
    return Artifact(
        name=name,
        bytecode=bytes.fromhex(built["bytecode"][2:]),
        sources=built["sources"],
        functions=functions,
        events=events,
        errors=errors,
        constructor=constructor,
    )


def _item(entry: dict[str, Any]) -> Item:
    from eth_utils.crypto import keccak

    types = tuple(_type(part) for part in entry["inputs"])
    return Item(
        name=entry["name"],
        types=types,
        names=tuple(part["name"] for part in entry["inputs"]),
        indexed=tuple(bool(part.get("indexed")) for part in entry["inputs"]),
        outputs=tuple(_type(part) for part in entry.get("outputs", ())),
        digest=keccak(text=f"{entry['name']}({','.join(types)})"),
    )


def _type(part: dict[str, Any]) -> str:
    kind = str(part["type"])
    if not kind.startswith("tuple"):
        return kind
    inner = ",".join(_type(component) for component in part["components"])
    return f"({inner}){kind.removeprefix('tuple')}"


def readable(kind: str, value: Any) -> object:
    """A decoded value as we hand it out: EIP-55 addresses, 0x hex for bytes."""
    if kind == "address":
        from engine.chain.keys import checksum

        return checksum(value)
    if isinstance(value, bytes):
        return "0x" + value.hex()
    return value
