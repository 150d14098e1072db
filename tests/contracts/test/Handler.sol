// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {DepositTypes, MockUSDC, Pots, Shorthands, Treasury, TreasuryBase} from "./Base.sol";

/// @dev Does at random what may be done, and keeps books of its own from what it did. Every action
///      brings about what it needs, so each succeeds whenever it is called; `done` counts them.
contract Handler is Shorthands {
    struct Named {
        DepositTypes.Terms terms;
        bool over;
    }

    uint256[3] internal keys = [uint256(0xd1), 0xd2, 0xd3];
    address[3] public funders;
    address[4] public workers = [address(0x3001), address(0x3002), address(0x3003), address(0x3004)];
    bytes32[2] public gigs = [bytes32("GIG_a"), "GIG_b"];

    mapping(string action => uint256 times) public done;

    // What the books should say.
    mapping(bytes32 gigId => uint256 units) public inPot;
    mapping(bytes32 gigId => mapping(address funder => uint256 units)) public funded;
    mapping(bytes32 gigId => mapping(address funder => uint256 units)) public fundedEver;
    mapping(bytes32 gigId => mapping(address funder => uint256 units)) public refundedEver;
    mapping(address worker => uint256 units) public earned;
    mapping(address funder => uint256 units) public wallet;
    mapping(address funder => uint256 units) public kept;
    mapping(bytes32 id => bool spent) public spent;
    uint256 public inDeposits;
    uint256 public fees;
    uint256 public residue;
    uint256 public withdrawn;
    uint256 public gifts;

    Named[] internal named;
    bytes32[] internal openIds;
    mapping(bytes32 depositId => uint256 place) internal placeOf;
    bytes32[] internal spentIds;
    uint256 internal counter;

    constructor(Treasury made, MockUSDC token) {
        treasury = made;
        usdc = token;
        for (uint256 n; n < 3; ++n) {
            funders[n] = vm.addr(keys[n]);
        }
    }

    // ---------------------------------------------------------------- pots

    function deposit(uint256 who, uint256 gig, uint256 units) public {
        address funder = funders[who % 3];
        bytes32 gigId = gigs[gig % 2];
        units = units % 1000e6 + 1;
        allowed(funder);
        give(funder, units);
        vm.prank(funder);
        treasury.deposit(gigId, units);
        inPot[gigId] += units;
        funded[gigId][funder] += units;
        fundedEver[gigId][funder] += units;
        done["deposit"]++;
    }

    function payFromPots(uint256 gig, uint256 to, uint256 gross, uint256 count) external {
        bytes32 gigId = gigs[gig % 2];
        count = count % 3 + 1;
        uint256 bps = treasury.feeBps();
        gross = gross % 100e6 + 1;
        while (inPot[gigId] < count * (gross + (gross * bps) / 10_000)) {
            deposit(to, gig, 1000e6 - 1);
        }
        unpaused();
        Pots.Payout[] memory items = new Pots.Payout[](count);
        for (uint256 n; n < count; ++n) {
            address worker = workers[(to % 4 + n) % 4];
            items[n] = Pots.Payout(nextId(), gigId, worker, gross);
        }
        vm.prank(SETTLER);
        treasury.payFromPots(items);
        for (uint256 n; n < count; ++n) {
            uint256 fee = (gross * bps) / 10_000;
            inPot[gigId] -= gross + fee;
            fees += fee;
            earned[items[n].to] += gross;
            spend(items[n].payoutId);
        }
        done["payFromPots"]++;
    }

    function refundPot(uint256 who, uint256 gig, uint256 units) external {
        address funder = funders[who % 3];
        bytes32 gigId = gigs[gig % 2];
        if (least(funded[gigId][funder], inPot[gigId]) == 0) deposit(who, gig, units);
        uint256 most = least(funded[gigId][funder], inPot[gigId]);
        units = units % most + 1;
        allowed(funder);
        vm.prank(REFUNDER);
        treasury.refundPot(nextId(), gigId, funder, units);
        inPot[gigId] -= units;
        funded[gigId][funder] -= units;
        refundedEver[gigId][funder] += units;
        wallet[funder] += units;
        done["refundPot"]++;
    }

    // ---------------------------------------------------------------- deposits

    function depositFor(uint256 who, uint256 payee, uint256 units) public {
        DepositTypes.Terms memory terms = newTerms(who, payee, units);
        give(terms.depositor, terms.amount);
        vm.prank(terms.depositor);
        treasury.depositFor(terms);
        record(terms);
        done["depositFor"]++;
    }

    function depositSigned(uint256 who, uint256 payee, uint256 units) external {
        DepositTypes.Terms memory terms = newTerms(who, payee, units);
        give(terms.depositor, terms.amount);
        (uint8 v, bytes32 r, bytes32 s) = vm.sign(keys[who % 3], digestOf(terms));
        vm.prank(CHARLIE);
        treasury.depositWithAuthorization(terms, 0, FAR, v, r, s);
        record(terms);
        done["depositSigned"]++;
    }

    /// @dev The payee of every other one is named by the settler.
    function settle(uint256 which, uint256 to, uint256 less) external {
        bytes32 depositId = done["settle"] % 2 == 0 ? anyOpen(which, to) : anyUnnamed(which, to);
        DepositTypes.Terms memory terms = named[placeOf[depositId]].terms;
        address worker = terms.payee == address(0) ? workers[to % 4] : terms.payee;
        uint256 gross = mostOf(terms.amount, terms.feeBps) - less % 10_000;
        unpaused();
        bytes32 payoutId = nextId();
        vm.prank(SETTLER);
        treasury.settle(settlement(payoutId, depositId, worker, gross));
        uint256 fee = (gross * terms.feeBps) / 10_000;
        inDeposits -= terms.amount;
        fees += fee;
        residue += terms.amount - gross - fee;
        earned[worker] += gross;
        spend(payoutId);
        close(depositId);
        done["settle"]++;
        if (terms.payee == address(0)) done["settle, payee named"]++;
    }

    function refund(uint256 which, uint256 who) external {
        bytes32 depositId = anyOpen(which, who);
        vm.prank(REFUNDER);
        treasury.refund(depositId);
        gaveBack(depositId);
        done["refund"]++;
    }

    function reclaim(uint256 which, uint256 who, uint256 waited) external {
        bytes32 depositId = anyOpen(which, who);
        DepositTypes.Terms memory terms = named[placeOf[depositId]].terms;
        address asker = waited % 2 == 0 ? terms.depositor : terms.reclaimer;
        (, uint40 openedAt,,,, uint40 reclaimAt,,,) = treasury.deposits(depositId);
        if (reclaimAt == 0) {
            if (block.timestamp < openedAt + 90 days) vm.warp(openedAt + 90 days + waited % 1 days);
            vm.prank(asker);
            treasury.requestReclaim(depositId);
            done["requestReclaim"]++;
            if (done["requestReclaim"] % 3 != 0) return;
            reclaimAt = uint40(block.timestamp + 30 days);
        }
        if (block.timestamp < reclaimAt) vm.warp(reclaimAt);
        vm.prank(asker);
        treasury.reclaim(depositId);
        gaveBack(depositId);
        done["reclaim"]++;
    }

    function refuse(uint256 which, uint256 who) external {
        bytes32 depositId = anyOpen(which, who);
        address depositor = named[placeOf[depositId]].terms.depositor;
        vm.prank(OWNER);
        usdc.blacklist(depositor);
        vm.prank(REFUNDER);
        treasury.refund(depositId);
        gaveBack(depositId);
        done["refund, refused"]++;
        if (done["refund, refused"] % 2 != 0) return;
        allowed(depositor);
        vm.prank(depositor);
        treasury.claim();
        wallet[depositor] += kept[depositor];
        kept[depositor] = 0;
        done["claim"]++;
    }

    // ---------------------------------------------------------------- owner, guardian, strangers

    function withdrawFees(uint256 units) external {
        if (fees + residue == 0) return;
        units = units % (fees + residue) + 1;
        uint256 before = usdc.balanceOf(OWNER);
        vm.prank(OWNER);
        treasury.withdrawFees(OWNER, units);
        same(usdc.balanceOf(OWNER) - before, units, "withdrawn");
        uint256 fromFees = least(units, fees);
        fees -= fromFees;
        residue -= units - fromFees;
        withdrawn += units;
        done["withdrawFees"]++;
    }

    function setFee(uint256 bps) external {
        vm.prank(OWNER);
        treasury.setFeeBps(bps % 5001);
        done["setFee"]++;
    }

    function pause(uint256 waited) external {
        uint256 until = treasury.pausedUntil();
        if (until != 0 && block.timestamp < until + 30 days) vm.warp(until + 30 days);
        vm.prank(GUARDIAN);
        treasury.pause();
        vm.warp(block.timestamp + waited % 14 days);
        done["pause"]++;
    }

    function gift(uint256 units) external {
        units = units % 10e6;
        vm.prank(OWNER);
        usdc.mint(address(treasury), units);
        gifts += units;
        done["gift"]++;
    }

    /// @dev What must never work, with the refusal that it must have.
    function overreach(uint256 which, uint256 who) external {
        bytes32 depositId = anyOpen(which, who);
        DepositTypes.Terms memory terms = named[placeOf[depositId]].terms;
        uint256 kind = which % 6;
        unpaused();
        if (kind == 0 && spentIds.length != 0) {
            bytes32 old = spentIds[who % spentIds.length];
            vm.expectRevert(abi.encodeWithSelector(TreasuryBase.PayoutSpent.selector, 0, old));
            vm.prank(SETTLER);
            treasury.settle(settlement(old, depositId, workers[0], 1));
            vm.expectRevert(abi.encodeWithSelector(TreasuryBase.PayoutSpent.selector, 0, old));
            vm.prank(SETTLER);
            treasury.payFromPots(payout(old, workers[0], 1));
            done["spent"]++;
        } else if (kind == 1) {
            uint256 most = mostOf(terms.amount, terms.feeBps);
            tooMuch(depositId, terms, terms.amount + 1, terms.amount + 1);
            tooMuch(depositId, terms, most + 1, withFee(most + 1, terms.feeBps));
            tooLittle(depositId, terms, most - 10_000);
            done["short"]++;
        } else if (kind == 2 && terms.payee != address(0)) {
            vm.expectRevert(
                abi.encodeWithSelector(
                    DepositTypes.SettlePayeeFixed.selector,
                    0,
                    bytes32("R"),
                    depositId,
                    CHARLIE,
                    terms.payee
                )
            );
            vm.prank(SETTLER);
            treasury.settle(settlement("R", depositId, CHARLIE, 1));
            done["fixed"]++;
        } else if (kind == 3) {
            vm.expectRevert(
                abi.encodeWithSelector(
                    DepositTypes.DepositExists.selector, depositId, DepositTypes.State.Open
                )
            );
            vm.prank(terms.depositor);
            treasury.depositFor(terms);
            done["exists"]++;
        } else if (kind == 4) {
            bytes32 gigId = gigs[who % 2];
            address funder = funders[who % 3];
            uint256 most = funded[gigId][funder];
            vm.expectRevert(
                abi.encodeWithSelector(
                    Pots.RefundAboveFunding.selector, bytes32("R"), most + 1, most
                )
            );
            vm.prank(REFUNDER);
            treasury.refundPot("R", gigId, funder, most + 1);
            done["above funding"]++;
        } else if (kind == 5) {
            vm.expectRevert(
                abi.encodeWithSelector(
                    Treasury.FeesShort.selector, fees + residue + 1, fees + residue
                )
            );
            vm.prank(OWNER);
            treasury.withdrawFees(OWNER, fees + residue + 1);
            done["fees short"]++;
        }
    }

    // ---------------------------------------------------------------- reading

    function openCount() external view returns (uint256) {
        return openIds.length;
    }

    function stateIsRight(uint256 n) external view returns (bool) {
        bytes32 depositId = treasury.depositIdOf(named[n].terms);
        DepositTypes.State state = stateOf(depositId);
        return (state == DepositTypes.State.Open) == !named[n].over;
    }

    function namedCount() external view returns (uint256) {
        return named.length;
    }

    // ---------------------------------------------------------------- inside

    function newTerms(uint256 who, uint256 payee, uint256 units)
        private
        returns (DepositTypes.Terms memory terms)
    {
        address worker = payee % 3 == 0 ? address(0) : workers[payee % 4];
        terms = termsOf(units % 500e6 + 40_000, worker);
        terms.depositor = funders[who % 3];
        terms.reclaimer = CHARLIE;
        allowed(terms.depositor);
    }

    function record(DepositTypes.Terms memory terms) private {
        bytes32 depositId = treasury.depositIdOf(terms);
        placeOf[depositId] = named.length;
        named.push(Named(terms, false));
        openIds.push(depositId);
        inDeposits += terms.amount;
    }

    function anyOpen(uint256 which, uint256 who) private returns (bytes32) {
        if (openIds.length == 0) depositFor(who, which, which);
        return openIds[which % openIds.length];
    }

    function anyUnnamed(uint256 which, uint256 who) private returns (bytes32 depositId) {
        uint256 count = openIds.length;
        for (uint256 n; n < count; ++n) {
            depositId = openIds[(which % count + n) % count];
            if (named[placeOf[depositId]].terms.payee == address(0)) return depositId;
        }
        depositFor(who, 0, which);
        return openIds[count];
    }

    function close(bytes32 depositId) private {
        named[placeOf[depositId]].over = true;
        for (uint256 n; n < openIds.length; ++n) {
            if (openIds[n] != depositId) continue;
            openIds[n] = openIds[openIds.length - 1];
            openIds.pop();
            return;
        }
    }

    function gaveBack(bytes32 depositId) private {
        DepositTypes.Terms memory terms = named[placeOf[depositId]].terms;
        inDeposits -= terms.amount;
        if (usdc.isBlacklisted(terms.depositor)) kept[terms.depositor] += terms.amount;
        else wallet[terms.depositor] += terms.amount;
        close(depositId);
    }

    function tooMuch(
        bytes32 depositId,
        DepositTypes.Terms memory terms,
        uint256 gross,
        uint256 needed
    ) private {
        bytes4 short = DepositTypes.SettleShort.selector;
        vm.expectRevert(
            abi.encodeWithSelector(short, 0, bytes32("R"), depositId, needed, terms.amount)
        );
        settleWrongly(depositId, terms, gross);
    }

    function tooLittle(bytes32 depositId, DepositTypes.Terms memory terms, uint256 gross) private {
        uint256 left = terms.amount - withFee(gross, terms.feeBps);
        bytes4 over = DepositTypes.SettleResidue.selector;
        vm.expectRevert(
            abi.encodeWithSelector(over, 0, bytes32("R"), depositId, left, 10_000 + terms.feeBps)
        );
        settleWrongly(depositId, terms, gross);
    }

    function settleWrongly(bytes32 depositId, DepositTypes.Terms memory terms, uint256 gross) private {
        address to = terms.payee == address(0) ? workers[0] : terms.payee;
        vm.prank(SETTLER);
        treasury.settle(settlement("R", depositId, to, gross));
    }

    function unpaused() private {
        if (block.timestamp >= treasury.pausedUntil()) return;
        vm.prank(OWNER);
        treasury.resume();
        done["resume"]++;
    }

    function allowed(address account) private {
        if (!usdc.isBlacklisted(account)) return;
        vm.prank(OWNER);
        usdc.unBlacklist(account);
    }

    function nextId() private returns (bytes32) {
        return keccak256(abi.encode(++counter));
    }

    function spend(bytes32 id) private {
        require(!spent[id], "an id was spent twice");
        spent[id] = true;
        spentIds.push(id);
    }

    function withFee(uint256 gross, uint256 bps) private pure returns (uint256) {
        return gross + (gross * bps) / 10_000;
    }

    function least(uint256 a, uint256 b) private pure returns (uint256) {
        return a < b ? a : b;
    }
}
