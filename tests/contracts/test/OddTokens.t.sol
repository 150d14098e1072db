// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Base, DepositTypes, MockUSDC, Pots, TreasuryBase} from "./Base.sol";
import {OddToken} from "./Tokens.sol";
import {ReentrancyGuardTransient} from "@openzeppelin/contracts/utils/ReentrancyGuardTransient.sol";

/// @dev The Treasury under tokens that misbehave as USDC never did.
contract OddTokensTest is Base {
    OddToken private odd;

    function setUp() public override {
        super.setUp();
        odd = new OddToken();
        treasury = treasuryFor(address(odd));
        odd.mint(alice, 100e6);
        vm.prank(alice);
        odd.approve(address(treasury), type(uint256).max);
    }

    function potOf(uint256 units) private {
        vm.prank(alice);
        treasury.deposit(GIG, units);
    }

    function openOdd(uint256 units) private returns (bytes32) {
        DepositTypes.Terms memory terms = termsOf(units, BOB);
        vm.prank(alice);
        treasury.depositFor(terms);
        return treasury.depositIdOf(terms);
    }

    function test_a_pot_is_credited_what_arrived() public {
        odd.setKeeps(100);
        potOf(10e6);
        same(treasury.pots(GIG), 9.9e6, "pot");
        same(treasury.fundedBy(GIG, alice), 9.9e6, "funded");
        odd.setKeeps(10_000);
        vm.expectRevert(abi.encodeWithSelector(TreasuryBase.ZeroAmount.selector));
        potOf(1e6);
    }

    function test_a_deposit_that_arrives_short_is_refused() public {
        odd.setKeeps(100);
        DepositTypes.Terms memory terms = termsOf(10e6, BOB);
        vm.expectRevert(
            abi.encodeWithSelector(
                DepositTypes.DepositShort.selector, treasury.depositIdOf(terms), 10e6, 9.9e6
            )
        );
        vm.prank(alice);
        treasury.depositFor(terms);
        same(treasury.depositsTotal(), 0, "deposits");
    }

    function test_a_pot_never_spends_what_somebody_else_is_owed() public {
        potOf(10e6);
        openOdd(5e6);
        odd.burn(address(treasury), 1);
        vm.expectRevert(
            abi.encodeWithSelector(TreasuryBase.NotCovered.selector, 15e6 - 1 - 1e6, 15e6 - 1e6)
        );
        vm.prank(SETTLER);
        treasury.payFromPots(payout("ROLLUP_1", BOB, 1e6));
        vm.expectRevert(
            abi.encodeWithSelector(TreasuryBase.NotCovered.selector, 15e6 - 1 - 1e6, 15e6 - 1e6)
        );
        vm.prank(REFUNDER);
        treasury.refundPot("R_1", GIG, alice, 1e6);
        // Made whole again by anybody, it goes on.
        odd.mint(address(treasury), 1);
        vm.prank(SETTLER);
        treasury.payFromPots(payout("ROLLUP_1", BOB, 1e6));
    }

    function test_fees_never_leave_while_something_is_missing() public {
        bytes32 depositId = openOdd(11e6);
        openOdd(5e6);
        vm.prank(SETTLER);
        treasury.settle(settlement("ROLLUP_1", depositId, BOB, 10e6));
        odd.burn(address(treasury), 1);
        vm.expectRevert(abi.encodeWithSelector(TreasuryBase.NotCovered.selector, 5e6 - 1, 5e6));
        vm.prank(OWNER);
        treasury.withdrawFees(OWNER, 1e6);
    }

    function test_a_token_that_answers_nothing_pays() public {
        potOf(10e6);
        odd.setAnswer(OddToken.Answer.Nothing);
        vm.prank(SETTLER);
        treasury.payFromPots(payout("ROLLUP_1", BOB, 1e6));
        same(odd.balanceOf(BOB), 1e6, "bob");
    }

    function test_a_token_that_does_not_answer_true_has_not_paid() public {
        potOf(10e6);
        bytes32 depositId = openOdd(1.1e6);
        for (uint256 n; n < 2; ++n) {
            odd.setAnswer(n == 0 ? OddToken.Answer.False : OddToken.Answer.Two);
            bytes memory reason = abi.encode(n * 2);
            vm.expectRevert(
                abi.encodeWithSelector(
                    TreasuryBase.PayoutRefused.selector, 0, bytes32("ROLLUP_1"), BOB, reason
                )
            );
            vm.prank(SETTLER);
            treasury.payFromPots(payout("ROLLUP_1", BOB, 1e6));
            vm.expectRevert(
                abi.encodeWithSelector(
                    TreasuryBase.PayoutRefused.selector, 0, bytes32("ROLLUP_1"), BOB, reason
                )
            );
            vm.prank(SETTLER);
            treasury.settle(settlement("ROLLUP_1", depositId, BOB, 1e6));
            vm.expectRevert(
                abi.encodeWithSelector(Pots.RefundRefused.selector, bytes32("R_1"), alice, reason)
            );
            vm.prank(REFUNDER);
            treasury.refundPot("R_1", GIG, alice, 1e6);
        }
        same(odd.balanceOf(BOB), 0, "bob");
    }

    function test_whatever_the_token_calls_back_is_shut_out() public {
        potOf(10e6);
        bytes32 depositId = openOdd(1.1e6);
        bytes[8] memory tries = [
            abi.encodeCall(treasury.deposit, (GIG, 1)),
            abi.encodeCall(treasury.depositFor, (termsOf(1e6, BOB))),
            abi.encodeCall(treasury.payFromPots, (payout("ROLLUP_2", BOB, 1))),
            abi.encodeCall(treasury.settle, (settlement("ROLLUP_2", depositId, BOB, 1e6))),
            abi.encodeCall(treasury.refundPot, ("R_1", GIG, alice, 1)),
            abi.encodeCall(treasury.refund, (depositId)),
            abi.encodeCall(treasury.claim, ()),
            abi.encodeCall(treasury.withdrawFees, (OWNER, 1))
        ];
        bytes memory shut =
            abi.encodeWithSelector(ReentrancyGuardTransient.ReentrancyGuardReentrantCall.selector);
        for (uint256 n; n < tries.length; ++n) {
            odd.setHook(address(treasury), tries[n]);
            vm.expectRevert(
                abi.encodeWithSelector(
                    TreasuryBase.PayoutRefused.selector, 0, bytes32("ROLLUP_1"), BOB, shut
                )
            );
            vm.prank(SETTLER);
            treasury.payFromPots(payout("ROLLUP_1", BOB, 1e6));
        }
        // Coming in, too.
        vm.expectRevert(shut);
        potOf(1e6);
        DepositTypes.Terms memory terms = termsOf(1e6, BOB);
        vm.expectRevert(shut);
        vm.prank(alice);
        treasury.depositFor(terms);
        // A refund under such a token is kept to be claimed.
        vm.prank(REFUNDER);
        treasury.refund(depositId);
        same(treasury.claimable(alice), 1.1e6, "claimable");
        vm.expectRevert(
            abi.encodeWithSelector(DepositTypes.ClaimRefused.selector, alice, shut)
        );
        vm.prank(alice);
        treasury.claim();
        odd.setHook(address(0), "");
        vm.prank(alice);
        treasury.claim();
    }
}
