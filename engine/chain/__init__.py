"""The only room that talks to a blockchain: client, Treasury, local chain, contracts."""
