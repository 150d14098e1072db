// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Ownable} from "@openzeppelin/contracts/access/Ownable.sol";
import {ERC20} from "@openzeppelin/contracts/token/ERC20/ERC20.sol";
import {ERC3009} from "@openzeppelin/contracts/token/ERC20/extensions/draft-ERC3009.sol";
import {IERC20Permit} from "@openzeppelin/contracts/token/ERC20/extensions/IERC20Permit.sol";
import {Nonces} from "@openzeppelin/contracts/utils/Nonces.sol";
import {ECDSA} from "@openzeppelin/contracts/utils/cryptography/ECDSA.sol";
import {EIP712} from "@openzeppelin/contracts/utils/cryptography/EIP712.sol";

/// @title A stand-in for USDC on local chains: same name, decimals, signing domain and refusals.
/// @notice Worth nothing. The owner mints; ERC-3009 comes from OpenZeppelin.
/// @dev `permit` is written here because OpenZeppelin's fixes the domain version to "1" and USDC
///      signs under "2".
contract MockUSDC is ERC3009, IERC20Permit, Nonces, Ownable {
    bytes32 private constant PERMIT_TYPEHASH =
        keccak256("Permit(address owner,address spender,uint256 value,uint256 nonce,uint256 deadline)");

    /// @notice Stops every transfer, as Circle can.
    bool public paused;
    /// @notice Accounts that can neither send nor receive.
    mapping(address account => bool) public isBlacklisted;

    event Blacklisted(address indexed account);
    event UnBlacklisted(address indexed account);
    event Pause();
    event Unpause();

    constructor(address initialOwner)
        ERC20("USD Coin", "USDC")
        EIP712("USD Coin", "2")
        Ownable(initialOwner)
    {}

    function decimals() public pure override returns (uint8) {
        return 6;
    }

    /// @notice The version of the EIP-712 domain, readable as on USDC.
    function version() external view returns (string memory) {
        return _EIP712Version();
    }

    function mint(address to, uint256 amount) external onlyOwner {
        _mint(to, amount);
    }

    function blacklist(address account) external onlyOwner {
        isBlacklisted[account] = true;
        emit Blacklisted(account);
    }

    function unBlacklist(address account) external onlyOwner {
        isBlacklisted[account] = false;
        emit UnBlacklisted(account);
    }

    function pause() external onlyOwner {
        paused = true;
        emit Pause();
    }

    function unpause() external onlyOwner {
        paused = false;
        emit Unpause();
    }

    /// @inheritdoc IERC20Permit
    function permit(
        address owner,
        address spender,
        uint256 value,
        uint256 deadline,
        uint8 v,
        bytes32 r,
        bytes32 s
    ) external {
        require(block.timestamp <= deadline, "FiatTokenV2: permit is expired");
        bytes32 terms =
            keccak256(abi.encode(PERMIT_TYPEHASH, owner, spender, value, _useNonce(owner), deadline));
        require(
            ECDSA.recover(_hashTypedDataV4(terms), v, r, s) == owner, "EIP2612: invalid signature"
        );
        _approve(owner, spender, value);
    }

    /// @inheritdoc IERC20Permit
    function nonces(address owner) public view override(IERC20Permit, Nonces) returns (uint256) {
        return super.nonces(owner);
    }

    /// @inheritdoc IERC20Permit
    // solhint-disable-next-line func-name-mixedcase
    function DOMAIN_SEPARATOR() external view returns (bytes32) {
        return _domainSeparatorV4();
    }

    /// @dev The messages are Circle's, since callers show them.
    function _update(address from, address to, uint256 value) internal override {
        require(!paused, "Pausable: paused");
        require(
            !isBlacklisted[from] && !isBlacklisted[to] && !isBlacklisted[msg.sender],
            "Blacklistable: account is blacklisted"
        );
        super._update(from, to, value);
    }
}
