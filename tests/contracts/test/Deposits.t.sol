// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Base, DepositTypes, TreasuryBase} from "./Base.sol";

/// @dev Promises about deposits, for any terms, amounts, rates and times.
contract DepositsTest is Base {
    function test_fuzz_the_id_is_the_hash_of_chain_contract_and_terms(DepositTypes.Terms memory terms)
        public
        view
    {
        bytes32 wanted = keccak256(
            abi.encode(
                block.chainid,
                address(treasury),
                terms.depositor,
                terms.payee,
                terms.gigId,
                terms.amount,
                terms.feeBps,
                terms.reclaimer,
                terms.salt
            )
        );
        require(treasury.depositIdOf(terms) == wanted, "id");
    }

    function test_fuzz_what_is_kept_is_what_the_terms_say(
        DepositTypes.Terms memory terms,
        uint96 amount,
        uint16 bps
    ) public {
        vm.assume(amount != 0 && terms.depositor > address(0xffff));
        vm.assume(terms.depositor != address(treasury) && terms.depositor != address(usdc));
        vm.assume(terms.payee != address(treasury) && terms.payee != address(usdc));
        terms.amount = amount;
        terms.feeBps = bps % 5001;
        vm.prank(OWNER);
        treasury.setFeeBps(terms.feeBps);
        bytes32 depositId = open(terms);
        (
            address depositor,
            uint40 openedAt,
            uint16 feeBps,
            DepositTypes.State state,
            address payee,
            uint40 reclaimAt,
            address reclaimer,
            uint96 kept,
            bytes32 gigId
        ) = treasury.deposits(depositId);
        require(depositor == terms.depositor && payee == terms.payee, "people");
        require(reclaimer == terms.reclaimer && gigId == terms.gigId, "reclaimer, gig");
        same(openedAt, block.timestamp, "openedAt");
        same(reclaimAt, 0, "reclaimAt");
        same(feeBps, terms.feeBps, "fee");
        same(kept, amount, "amount");
        same(uint256(state), uint256(DepositTypes.State.Open), "state");
        checkBooks();
    }

    function test_fuzz_a_settlement_either_follows_the_rule_or_is_refused(
        uint96 amount,
        uint16 rate,
        uint16 more
    ) public {
        amount = amount % 1e15 + 40_000;
        uint256 bps = rate % 5001;
        vm.prank(OWNER);
        treasury.setFeeBps(bps);
        uint256 needed = amount + (uint256(amount) * bps) / 10_000;
        // Up to two cents on either side of what just fits.
        uint256 held = needed + more % 40_000 - 20_000;
        bytes32 depositId = opened(held);
        bytes32 id = "ROLLUP_1";
        bool fits = needed <= held && held - needed < 10_000 + bps;
        if (amount > held) {
            vm.expectRevert(
                abi.encodeWithSelector(
                    DepositTypes.SettleShort.selector, 0, id, depositId, amount, held
                )
            );
        } else if (needed > held) {
            vm.expectRevert(
                abi.encodeWithSelector(
                    DepositTypes.SettleShort.selector, 0, id, depositId, needed, held
                )
            );
        } else if (!fits) {
            vm.expectRevert(
                abi.encodeWithSelector(
                    DepositTypes.SettleResidue.selector, 0, id, depositId, held - needed, 10_000 + bps
                )
            );
        }
        vm.prank(SETTLER);
        treasury.settle(settlement(id, depositId, BOB, amount));
        same(usdc.balanceOf(BOB), fits ? amount : 0, "bob");
        same(treasury.depositsTotal(), fits ? 0 : held, "deposits");
        same(treasury.feesDue() + treasury.residueDue(), fits ? held - amount : 0, "fees, residue");
        checkBooks();
    }

    function test_fuzz_the_bound_of_the_residue_is_exact_at_any_rate(uint16 rate) public {
        uint256 bps = rate % 5001;
        vm.prank(OWNER);
        treasury.setFeeBps(bps);
        uint256 needed = 1e6 + (1e6 * bps) / 10_000;
        uint256 below = 10_000 + bps;
        bytes32 over = opened(needed + below);
        bytes32 under = opened(needed + below - 1);
        bytes32 id = "ROLLUP_1";
        vm.expectRevert(
            abi.encodeWithSelector(DepositTypes.SettleResidue.selector, 0, id, over, below, below)
        );
        vm.prank(SETTLER);
        treasury.settle(settlement(id, over, BOB, 1e6));
        vm.prank(SETTLER);
        treasury.settle(settlement(id, under, BOB, 1e6));
        same(treasury.residueDue(), below - 1, "residue");
        checkBooks();
    }

    /// @dev Rounding down the deposit without its fee can be one unit below the most that fits.
    function test_the_most_that_fits_can_be_one_more_than_the_deposit_without_its_fee() public {
        vm.prank(OWNER);
        treasury.setFeeBps(1223);
        bytes32 depositId = opened(40_001);
        uint256 without = uint256(40_001 * 10_000) / 11_223;
        same(mostOf(40_001, 1223), without + 1, "most");
        bytes32 id = "ROLLUP_1";
        vm.expectRevert(
            abi.encodeWithSelector(DepositTypes.SettleResidue.selector, 0, id, depositId, 11_223, 11_223)
        );
        vm.prank(SETTLER);
        treasury.settle(settlement(id, depositId, BOB, without - 9999));
        vm.prank(SETTLER);
        treasury.settle(settlement(id, depositId, BOB, without + 1));
        same(treasury.residueDue(), 0, "residue");
    }

    function test_fuzz_any_of_the_10000_amounts_up_to_the_most_that_fits_is_settled_and_no_other(
        uint96 units,
        uint16 rate,
        uint16 less
    ) public {
        uint256 bps = rate % 5001;
        vm.prank(OWNER);
        treasury.setFeeBps(bps);
        uint256 held = uint256(units) % 1e15 + 40_000;
        uint256 most = mostOf(held, bps);
        settles(held, most, true);
        settles(held, most - 9999, true);
        settles(held, most - less % 10_000, true);
        settles(held, most + 1, false);
        settles(held, most - 10_000, false);
    }

    /// @dev Whole cents out of any deposit, as the engine reckons them.
    function test_fuzz_any_deposit_of_a_cent_and_its_fee_can_be_settled(uint96 units, uint16 rate)
        public
    {
        uint256 bps = rate % 5001;
        uint256 held = uint256(units) % 1e15 + 10_000 + bps;
        vm.prank(OWNER);
        treasury.setFeeBps(bps);
        bytes32 depositId = opened(held);
        uint256 gross = ((held * 10_000) / (10_000 + bps) / 10_000) * 10_000;
        vm.prank(SETTLER);
        treasury.settle(settlement("ROLLUP_1", depositId, BOB, gross));
        same(usdc.balanceOf(BOB), gross, "bob");
        checkBooks();
    }

    function test_fuzz_a_signature_is_for_its_terms_alone(DepositTypes.Terms memory other, uint8 which)
        public
    {
        DepositTypes.Terms memory terms = termsOf(5e6, BOB);
        give(terms.depositor, 5e6);
        (uint8 v, bytes32 r, bytes32 s) = vm.sign(ALICE_KEY, digestOf(terms));
        DepositTypes.Terms memory altered = abi.decode(abi.encode(terms), (DepositTypes.Terms));
        which = which % 6;
        if (which == 0) altered.payee = other.payee;
        if (which == 1) altered.gigId = other.gigId;
        if (which == 2) altered.amount = other.amount % 5e6 + 1;
        if (which == 3) altered.reclaimer = other.reclaimer;
        if (which == 4) altered.salt = other.salt;
        if (which == 5) altered.depositor = other.depositor;
        vm.assume(treasury.depositIdOf(altered) != treasury.depositIdOf(terms));
        vm.assume(altered.payee != address(treasury) && altered.payee != address(usdc));
        vm.expectRevert(abi.encodeWithSignature("ERC3009InvalidSignature()"));
        vm.prank(CHARLIE);
        treasury.depositWithAuthorization(altered, 0, FAR, v, r, s);
        vm.prank(CHARLIE);
        treasury.depositWithAuthorization(terms, 0, FAR, v, r, s);
        same(uint256(stateOf(treasury.depositIdOf(terms))), 1, "state");
    }

    function test_fuzz_a_reclaim_takes_90_and_30_days(uint32 waited, uint32 after_) public {
        bytes32 depositId = opened(5e6);
        uint256 openedAt = block.timestamp;
        vm.warp(openedAt + waited);
        bool announced = waited >= 90 days;
        if (!announced) {
            vm.expectRevert(
                abi.encodeWithSelector(
                    DepositTypes.ReclaimTooEarly.selector, depositId, openedAt + 90 days
                )
            );
        }
        vm.prank(alice);
        treasury.requestReclaim(depositId);
        uint256 reclaimAt = block.timestamp + 30 days;
        vm.warp(block.timestamp + after_);
        if (!announced) {
            vm.expectRevert(
                abi.encodeWithSelector(DepositTypes.ReclaimNotRequested.selector, depositId)
            );
        } else if (block.timestamp < reclaimAt) {
            vm.expectRevert(
                abi.encodeWithSelector(DepositTypes.ReclaimTooEarly.selector, depositId, reclaimAt)
            );
        }
        vm.prank(alice);
        treasury.reclaim(depositId);
        same(usdc.balanceOf(alice), announced && block.timestamp >= reclaimAt ? 5e6 : 0, "alice");
        checkBooks();
    }

    function test_fuzz_nobody_without_a_role_moves_anything(address who) public {
        vm.assume(who != OWNER && who != SETTLER && who != REFUNDER && who != GUARDIAN);
        vm.assume(who != alice && who != address(0));
        fund(20e6);
        bytes32 depositId = opened(1.1e6);
        vm.expectRevert(missing(TreasuryBase.Role.Settler, who));
        vm.prank(who);
        treasury.settle(settlement("ROLLUP_1", depositId, BOB, 1e6));
        vm.expectRevert(missing(TreasuryBase.Role.Settler, who));
        vm.prank(who);
        treasury.payFromPots(payout("ROLLUP_1", BOB, 1e6));
        vm.expectRevert(missing(TreasuryBase.Role.Refunder, who));
        vm.prank(who);
        treasury.refund(depositId);
        vm.expectRevert(missing(TreasuryBase.Role.Refunder, who));
        vm.prank(who);
        treasury.refundPot("R_1", GIG, alice, 1e6);
        vm.expectRevert(missing(TreasuryBase.Role.Guardian, who));
        vm.prank(who);
        treasury.pause();
        vm.expectRevert(abi.encodeWithSignature("OwnableUnauthorizedAccount(address)", who));
        vm.prank(who);
        treasury.withdrawFees(who, 1);
        vm.expectRevert(
            abi.encodeWithSelector(DepositTypes.ReclaimNotYours.selector, depositId, who)
        );
        vm.prank(who);
        treasury.requestReclaim(depositId);
        vm.expectRevert(abi.encodeWithSelector(DepositTypes.NothingToClaim.selector, who));
        vm.prank(who);
        treasury.claim();
    }

    function settles(uint256 held, uint256 gross, bool fits) private {
        bytes32 depositId = opened(held);
        vm.prank(SETTLER);
        try treasury.settle(settlement(depositId, depositId, BOB, gross)) {
            require(fits, string.concat(decimal(gross), " of ", decimal(held), " were settled"));
        } catch {
            require(!fits, string.concat(decimal(gross), " of ", decimal(held), " were refused"));
        }
    }

    function missing(TreasuryBase.Role role, address who) private pure returns (bytes memory) {
        return abi.encodeWithSelector(TreasuryBase.MissingRole.selector, role, who);
    }
}
