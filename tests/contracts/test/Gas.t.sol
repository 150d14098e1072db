// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Base, DepositTypes, Pots} from "./Base.sol";

/// @dev What a transaction costs, whole, written to gas/Treasury.json and compared to the unit.
contract GasTest is Base {
    function setUp() public override {
        super.setUp();
        // Nothing is the first of its kind: totals that were zero once cost more then.
        fund(10e6);
        bytes32 before = open(termsOf(1.1e6 + 1, BOB));
        opened(1e6);
        vm.prank(SETTLER);
        treasury.settle(settlement("before", before, BOB, 1e6));
        vm.prank(SETTLER);
        treasury.payFromPots(payout("earlier", BOB, 1e6));
        give(alice, 1000e6);
    }

    function note(string memory name) private {
        vm.snapshotGasLastCall("Treasury", name);
    }

    function test_gas_of_pots() public {
        vm.prank(alice);
        treasury.deposit(GIG, 500e6);
        note("deposit");
        vm.prank(SETTLER);
        treasury.payFromPots(payout("one", BOB, 1e6));
        note("payFromPots, 1 item");
        Pots.Payout[] memory items = new Pots.Payout[](100);
        for (uint160 n; n < 100; ++n) {
            items[n] = Pots.Payout(bytes32(uint256(n + 1)), GIG, address(0x9000 + n), 1e6);
        }
        vm.prank(SETTLER);
        treasury.payFromPots(items);
        note("payFromPots, 100 new payees");
        vm.prank(REFUNDER);
        treasury.refundPot("R_1", GIG, alice, 1e6);
        note("refundPot");
        vm.prank(OWNER);
        treasury.withdrawFees(OWNER, 1e6);
        note("withdrawFees");
    }

    function test_gas_of_deposits() public {
        DepositTypes.Terms memory terms = termsOf(1.1e6, BOB);
        vm.prank(alice);
        treasury.depositFor(terms);
        note("depositFor");
        bytes32 depositId = treasury.depositIdOf(terms);
        vm.prank(SETTLER);
        treasury.settle(settlement("one", depositId, BOB, 1e6));
        note("settle, 1 item");
        terms = termsOf(1.1e6, BOB);
        (uint8 v, bytes32 r, bytes32 s) = vm.sign(ALICE_KEY, digestOf(terms));
        treasury.depositWithAuthorization(terms, 0, FAR, v, r, s);
        note("depositWithAuthorization");
        depositId = treasury.depositIdOf(terms);
        vm.prank(REFUNDER);
        treasury.refund(depositId);
        note("refund");
    }

    function test_gas_of_batches() public {
        DepositTypes.Settlement[] memory items = batch(100, true);
        vm.prank(SETTLER);
        treasury.settle(items);
        note("settle, 100 new payees");
        items = batch(100, false);
        vm.prank(SETTLER);
        treasury.settle(items);
        note("settle, 100 to one payee");
    }

    function test_gas_of_a_reclaim() public {
        bytes32 depositId = opened(1.1e6);
        vm.warp(block.timestamp + 90 days);
        vm.prank(alice);
        treasury.requestReclaim(depositId);
        note("requestReclaim");
        vm.warp(block.timestamp + 30 days);
        vm.prank(alice);
        treasury.reclaim(depositId);
        note("reclaim");
        depositId = opened(1.1e6);
        vm.prank(OWNER);
        usdc.blacklist(alice);
        vm.prank(REFUNDER);
        treasury.refund(depositId);
        note("refund that the token refuses");
        vm.prank(OWNER);
        usdc.unBlacklist(alice);
        vm.prank(alice);
        treasury.claim();
        note("claim");
    }

    function batch(uint160 count, bool fresh) private returns (DepositTypes.Settlement[] memory items) {
        items = new DepositTypes.Settlement[](count);
        for (uint160 n; n < count; ++n) {
            address to = fresh ? address(0x8000 + n) : BOB;
            bytes32 depositId = open(termsOf(1.1e6, to));
            items[n] = DepositTypes.Settlement(depositId, depositId, to, 1e6);
        }
    }
}
