// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {DepositTypes} from "../src/DepositTypes.sol";
import {Deposits} from "../src/Deposits.sol";
import {MockUSDC} from "../src/MockUSDC.sol";
import {Pots} from "../src/Pots.sol";
import {Treasury} from "../src/Treasury.sol";
import {TreasuryBase} from "../src/TreasuryBase.sol";
import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";

/// @dev Of forge's own contract at this address, what these tests use.
interface Vm {
    function prank(address sender) external;
    function warp(uint256 time) external;
    function assume(bool condition) external;
    function expectRevert(bytes calldata data) external;
    function addr(uint256 key) external pure returns (address);
    function sign(uint256 key, bytes32 digest) external pure returns (uint8 v, bytes32 r, bytes32 s);
    function snapshotGasLastCall(string calldata group, string calldata name) external returns (uint256);
}

/// @dev Shorthands around a Treasury whose every role is at another address.
abstract contract Shorthands {
    Vm internal constant vm = Vm(address(uint160(uint256(keccak256("hevm cheat code")))));

    uint256 internal constant ALICE_KEY = 0xa11ce;
    address internal immutable alice = vm.addr(ALICE_KEY);
    address internal constant OWNER = address(0x1001);
    address internal constant SETTLER = address(0x1002);
    address internal constant REFUNDER = address(0x1003);
    address internal constant GUARDIAN = address(0x1004);
    address internal constant BOB = address(0x2001);
    address internal constant CHARLIE = address(0x2002);
    bytes32 internal constant GIG = keccak256("GIG_a");
    uint256 internal constant FAR = 2 ** 40;
    bytes32 private constant RECEIVE_TYPEHASH = keccak256(
        "ReceiveWithAuthorization(address from,address to,uint256 value,uint256 validAfter,uint256 validBefore,bytes32 nonce)"
    );

    MockUSDC internal usdc;
    Treasury internal treasury;
    uint256 private salt;

    function treasuryFor(address token) internal returns (Treasury) {
        return new Treasury(IERC20(token), OWNER, 1000, SETTLER, REFUNDER, GUARDIAN);
    }

    function give(address account, uint256 units) internal {
        vm.prank(OWNER);
        usdc.mint(account, units);
        vm.prank(account);
        usdc.approve(address(treasury), type(uint256).max);
    }

    function fund(uint256 units) internal {
        give(alice, units);
        vm.prank(alice);
        treasury.deposit(GIG, units);
    }

    function termsOf(uint256 units, address payee) internal returns (DepositTypes.Terms memory) {
        return DepositTypes.Terms({
            depositor: alice,
            payee: payee,
            gigId: GIG,
            amount: units,
            feeBps: treasury.feeBps(),
            reclaimer: address(0),
            salt: bytes32(++salt)
        });
    }

    function open(DepositTypes.Terms memory terms) internal returns (bytes32 depositId) {
        give(terms.depositor, terms.amount);
        vm.prank(terms.depositor);
        treasury.depositFor(terms);
        return treasury.depositIdOf(terms);
    }

    function opened(uint256 units) internal returns (bytes32) {
        return open(termsOf(units, BOB));
    }

    function digestOf(DepositTypes.Terms memory terms) internal view returns (bytes32) {
        bytes32 text = keccak256(
            abi.encode(
                RECEIVE_TYPEHASH,
                terms.depositor,
                address(treasury),
                terms.amount,
                0,
                FAR,
                treasury.depositIdOf(terms)
            )
        );
        return keccak256(abi.encodePacked(hex"1901", usdc.DOMAIN_SEPARATOR(), text));
    }

    function settlement(bytes32 payoutId, bytes32 depositId, address to, uint256 units)
        internal
        pure
        returns (DepositTypes.Settlement[] memory items)
    {
        items = new DepositTypes.Settlement[](1);
        items[0] = DepositTypes.Settlement(payoutId, depositId, to, units);
    }

    function payout(bytes32 payoutId, address to, uint256 gross)
        internal
        pure
        returns (Pots.Payout[] memory items)
    {
        items = new Pots.Payout[](1);
        items[0] = Pots.Payout(payoutId, GIG, to, gross);
    }

    /// @dev The most that fits into a deposit with its fee, which is rounded down: so it can be one
    ///      above the deposit without its fee. Of the amounts, the last 10,000 up to it can be settled.
    function mostOf(uint256 held, uint256 bps) internal pure returns (uint256) {
        return ((held + 1) * 10_000 - 1) / (10_000 + bps);
    }

    function stateOf(bytes32 depositId) internal view returns (DepositTypes.State state) {
        (,,, state,,,,,) = treasury.deposits(depositId);
    }

    function same(uint256 found, uint256 wanted, string memory what) internal pure {
        require(found == wanted, string.concat(what, ": ", decimal(found), ", not ", decimal(wanted)));
    }

    function decimal(uint256 n) internal pure returns (string memory text) {
        if (n < 10) return string(abi.encodePacked(bytes1(uint8(48 + n))));
        return string.concat(decimal(n / 10), decimal(n % 10));
    }

    /// @dev The books balance: what is owed is held, and is the sum of its parts.
    function checkBooks() internal view {
        uint256 parts = treasury.potsTotal() + treasury.depositsTotal() + treasury.feesDue()
            + treasury.residueDue() + treasury.claimableTotal();
        same(treasury.accounted(), parts, "accounted");
        require(usdc.balanceOf(address(treasury)) >= parts, "holds less than it owes");
    }
}

/// @dev The same with a Treasury made for each test.
abstract contract Base is Shorthands {
    function setUp() public virtual {
        vm.warp(1_800_000_000);
        usdc = new MockUSDC(OWNER);
        treasury = treasuryFor(address(usdc));
    }
}
