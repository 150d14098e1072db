// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Base, DepositTypes} from "./Base.sol";

/// @dev Proven by halmos for every value of every argument.
///
///      Solvers give up on division by bits, so it is said without: `q` is `n / d`, rounded down,
///      exactly when `q * d <= n < (q + 1) * d`.
contract ArithmeticTest is Base {
    uint256 private constant CENT = 10_000;
    uint256 private constant BPS = 10_000;

    /// @dev At our rate and at the highest there is: of `10 q + m` a tenth is `q`, of `2 q + m` a half
    ///      is, so the fee is never above its part and less than one base unit below it.
    function check_the_fee_is_rounded_down_by_less_than_one_unit(uint88 q, uint8 m) public pure {
        unchecked {
            if (m < 10) assert(isFloor(q, (uint256(q) * 10 + m) * 1000, BPS));
            if (m < 2) assert(isFloor(q, (uint256(q) * 2 + m) * 5000, BPS));
        }
    }

    /// @dev The most whole cents that fit into a deposit with their fee leave less than the bound,
    ///      of any deposit at any rate.
    function check_whole_cents_leave_less_than_the_bound(uint96 held, uint16 bps, uint96 cents)
        public
        pure
    {
        if (bps > 5000) return;
        unchecked {
            // A whole cent's fee is a whole number of base units: `bps` of them.
            uint256 cost = CENT + bps;
            if (!isFloor(cents, held, cost)) return;
            assert(cents * cost <= held);
            assert(held - cents * cost < CENT + bps);
        }
    }

    /// @dev Whatever a settlement asks for, the contract splits the deposit into amount, fee and
    ///      residue and loses nothing, or it changes nothing.
    function check_a_settlement_splits_a_deposit_exactly(uint96 amount, bytes32 payoutId) public {
        uint256 held = 1.1e6;
        bytes32 depositId = opened(held);
        vm.prank(SETTLER);
        try treasury.settle(settlement(payoutId, depositId, BOB, amount)) {
            uint256 fees = treasury.feesDue();
            uint256 residue = treasury.residueDue();
            assert(residue < CENT + 1000);
            assert(amount + fees + residue == held);
            assert(usdc.balanceOf(BOB) == amount);
            assert(usdc.balanceOf(address(treasury)) == treasury.accounted());
        } catch {
            assert(treasury.depositsTotal() == held);
            assert(usdc.balanceOf(BOB) == 0);
        }
    }

    /// @dev Whatever the settler writes into it, a settlement of bob's deposit pays bob or nobody.
    function check_a_fixed_payee_is_never_replaced(address to, uint96 amount, bytes32 payoutId) public {
        bytes32 depositId = opened(1.1e6);
        vm.assume(to != BOB && to != address(treasury));
        uint256 before = usdc.balanceOf(to);
        vm.prank(SETTLER);
        try treasury.settle(settlement(payoutId, depositId, to, amount)) {
            assert(false);
        } catch {
            assert(usdc.balanceOf(to) == before);
            assert(stateOf(depositId) == DepositTypes.State.Open);
        }
    }

    function isFloor(uint256 q, uint256 n, uint256 d) private pure returns (bool) {
        unchecked {
            return q * d <= n && n < (q + 1) * d;
        }
    }
}
