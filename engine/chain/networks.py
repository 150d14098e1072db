"""Names of chains, for people (H-13)."""

from __future__ import annotations

LOCAL_CHAIN_ID = 31337

# chain id: (name, is a test network)
NETWORKS: dict[int, tuple[str, bool]] = {
    1: ("Ethereum", False),
    10: ("OP Mainnet", False),
    137: ("Polygon", False),
    8453: ("Base", False),
    42161: ("Arbitrum One", False),
    43114: ("Avalanche", False),
    11155111: ("Sepolia", True),
    11155420: ("OP Sepolia", True),
    80002: ("Polygon Amoy", True),
    84532: ("Base Sepolia", True),
    421614: ("Arbitrum Sepolia", True),
    43113: ("Avalanche Fuji", True),
    1337: ("Local", True),
    LOCAL_CHAIN_ID: ("Local", True),
}


def chain_name(chain_id: int) -> str:
    """A name to show; `Chain 5` for a chain that is not in the table."""
    known = NETWORKS.get(chain_id)
    return known[0] if known else f"Chain {chain_id}"


def is_testnet(chain_id: int) -> bool:
    """True when the table says so. An unknown chain counts as real money."""
    known = NETWORKS.get(chain_id)
    return known is not None and known[1]
