// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {SafeERC20, IERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";
import {TreasuryBase} from "./TreasuryBase.sol";

/// @title A pot for each gig: anyone may fill it, the settler pays workers from it.
/// @notice The fee comes on top. The refunder gives a funder back at most what he put in.
abstract contract Pots is TreasuryBase {
    using SafeERC20 for IERC20;

    /// @notice One item of a batch: `gross` to `to` out of the pot of `gigId`, the fee on top.
    struct Payout {
        bytes32 payoutId;
        bytes32 gigId;
        address to;
        uint256 gross;
    }

    /// @notice The sum of all pots.
    uint256 public potsTotal;
    /// @notice What a gig's pot holds.
    mapping(bytes32 gigId => uint256 held) public pots;
    /// @notice What a funder put into a pot and did not get back.
    mapping(bytes32 gigId => mapping(address funder => uint256 amount)) public fundedBy;
    /// @notice True once a refund id is paid, for ever.
    mapping(bytes32 refundId => bool spent) public refundSpent;

    event PotDeposited(bytes32 indexed gigId, address indexed funder, uint256 amount);
    event PaidOut(
        bytes32 indexed payoutId, bytes32 indexed gigId, address indexed to, uint256 gross, uint256 fee
    );
    event PotRefunded(
        bytes32 indexed refundId, bytes32 indexed gigId, address indexed funder, uint256 amount
    );

    error PotShort(uint256 index, bytes32 payoutId, bytes32 gigId, uint256 needed, uint256 held);
    error RefundSpent(bytes32 refundId);
    error RefundAboveFunding(bytes32 refundId, uint256 wanted, uint256 funded);
    error RefundAbovePot(bytes32 refundId, uint256 wanted, uint256 held);
    error RefundRefused(bytes32 refundId, address funder, bytes reason);

    /// @notice Puts `amount` of the caller's tokens into the pot of `gigId`. Needs an allowance.
    /// @dev Credits what arrived, which is less than `amount` should the token ever take a fee.
    function deposit(bytes32 gigId, uint256 amount) external nonReentrant {
        require(amount != 0, ZeroAmount());
        uint256 before = usdc.balanceOf(address(this));
        usdc.safeTransferFrom(msg.sender, address(this), amount);
        uint256 received = usdc.balanceOf(address(this)) - before;
        require(received != 0, ZeroAmount());
        pots[gigId] += received;
        potsTotal += received;
        fundedBy[gigId][msg.sender] += received;
        emit PotDeposited(gigId, msg.sender, received);
    }

    /// @notice Pays every item, or none. Each item takes `gross` plus `gross * feeBps / 10000`,
    ///         rounded down, from its gig's pot. A payout id is spent once, for ever.
    function payFromPots(Payout[] calldata payouts)
        external
        nonReentrant
        onlyRole(Role.Settler)
        notPaused
        covered
    {
        uint256 length = payouts.length;
        _checkBatch(length);
        uint256 left = leftToday();
        uint256 taken = 0;
        uint256 fees = 0;
        for (uint256 i; i < length; ++i) {
            Payout calldata item = payouts[i];
            (uint256 needed, uint256 fee) = _book(i, item);
            require(needed <= left - taken, OverDailyCap(i, item.payoutId, needed, left - taken));
            taken += needed;
            fees += fee;
        }
        potsTotal -= taken;
        feesDue += fees;
        _countTowardsCap(taken);

        // All books are closed before the first token leaves.
        for (uint256 i; i < length; ++i) {
            _payOut(i, payouts[i].payoutId, payouts[i].to, payouts[i].gross);
        }
    }

    /// @notice Gives `amount` back to `funder`: at most what he put into this pot and did not get
    ///         back, and at most what the pot still holds. Works during a pause.
    function refundPot(bytes32 refundId, bytes32 gigId, address funder, uint256 amount)
        external
        nonReentrant
        onlyRole(Role.Refunder)
        covered
    {
        require(!refundSpent[refundId], RefundSpent(refundId));
        require(amount != 0, ZeroAmount());
        uint256 funded = fundedBy[gigId][funder];
        require(amount <= funded, RefundAboveFunding(refundId, amount, funded));
        uint256 held = pots[gigId];
        require(amount <= held, RefundAbovePot(refundId, amount, held));

        refundSpent[refundId] = true;
        fundedBy[gigId][funder] = funded - amount;
        pots[gigId] = held - amount;
        potsTotal -= amount;
        emit PotRefunded(refundId, gigId, funder, amount);

        (bool sent, bytes memory reason) = _send(funder, amount);
        require(sent, RefundRefused(refundId, funder, reason));
    }

    /// @dev Books one item against its pot and spends its id; `needed` is gross + fee.
    function _book(uint256 index, Payout calldata item) private returns (uint256 needed, uint256 fee) {
        bytes32 payoutId = item.payoutId;
        uint256 gross = item.gross;
        _spend(index, payoutId);
        require(gross != 0, PayoutOfNothing(index, payoutId));
        require(!_unfit(item.to), PayeeUnfit(index, payoutId, item.to));
        uint256 held = pots[item.gigId];
        // Compared before multiplying: an absurd amount is PotShort, not an overflow without a name.
        require(gross <= held, PotShort(index, payoutId, item.gigId, gross, held));
        fee = _feeOf(gross, feeBps);
        needed = gross + fee;
        require(needed <= held, PotShort(index, payoutId, item.gigId, needed, held));

        pots[item.gigId] = held - needed;
        emit PaidOut(payoutId, item.gigId, item.to, gross, fee);
    }
}
