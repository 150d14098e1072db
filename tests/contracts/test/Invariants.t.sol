// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Base} from "./Base.sol";
import {Handler} from "./Handler.sol";

/// @dev What holds after any order of everything that may be done.
contract InvariantsTest is Base {
    Handler private handler;

    function setUp() public override {
        super.setUp();
        handler = new Handler(treasury, usdc);
    }

    function targetContracts() external view returns (address[] memory targets) {
        targets = new address[](1);
        targets[0] = address(handler);
    }

    function invariant_the_books_balance_and_nobody_gets_more_than_his_due() external view {
        checkBooks();
        uint256 inPots;
        uint256 kept;
        for (uint256 g; g < 2; ++g) {
            bytes32 gigId = handler.gigs(g);
            same(treasury.pots(gigId), handler.inPot(gigId), "pot");
            inPots += handler.inPot(gigId);
            for (uint256 n; n < 3; ++n) {
                address funder = handler.funders(n);
                same(treasury.fundedBy(gigId, funder), handler.funded(gigId, funder), "funded");
                require(
                    handler.refundedEver(gigId, funder) <= handler.fundedEver(gigId, funder),
                    "a funder got back more than he put in"
                );
            }
        }
        for (uint256 n; n < 3; ++n) {
            address funder = handler.funders(n);
            same(usdc.balanceOf(funder), handler.wallet(funder), "funder");
            same(treasury.claimable(funder), handler.kept(funder), "claimable");
            kept += handler.kept(funder);
        }
        for (uint256 n; n < 4; ++n) {
            address worker = handler.workers(n);
            same(usdc.balanceOf(worker), handler.earned(worker), "worker");
        }
        same(treasury.potsTotal(), inPots, "pots");
        same(treasury.depositsTotal(), handler.inDeposits(), "deposits");
        same(treasury.feesDue(), handler.fees(), "fees");
        same(treasury.residueDue(), handler.residue(), "residue");
        same(treasury.claimableTotal(), kept, "claimable total");
        uint256 held = usdc.balanceOf(address(treasury));
        same(held, treasury.accounted() + handler.gifts(), "held");
    }

    /// @dev An invariant over actions that all failed would prove nothing: each has succeeded, in
    ///      every run.
    function afterInvariant() external view {
        string[17] memory actions = [
            "deposit",
            "payFromPots",
            "refundPot",
            "depositFor",
            "depositSigned",
            "settle",
            "settle, payee named",
            "refund",
            "requestReclaim",
            "reclaim",
            "refund, refused",
            "claim",
            "withdrawFees",
            "setFee",
            "pause",
            "resume",
            "gift"
        ];
        for (uint256 n; n < actions.length; ++n) {
            require(handler.done(actions[n]) != 0, string.concat(actions[n], " never succeeded"));
        }
        string[6] memory refusals =
            ["spent", "short", "fixed", "exists", "above funding", "fees short"];
        uint256 refused;
        for (uint256 n; n < refusals.length; ++n) {
            if (handler.done(refusals[n]) != 0) ++refused;
        }
        require(refused >= 3, "hardly any overreach was tried");
        for (uint256 n; n < handler.namedCount(); ++n) {
            require(handler.stateIsRight(n), "a deposit is in another state than was done to it");
        }
    }
}
