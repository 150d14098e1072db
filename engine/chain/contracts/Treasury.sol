// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {SafeERC20, IERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";
import {Deposits} from "./Deposits.sol";
import {Pots} from "./Pots.sol";
import {TreasuryBase} from "./TreasuryBase.sol";

/// @title Holds USDC for gigs and pays workers out of it.
/// @notice Money comes in as a gig's pot or as a deposit on fixed terms. Tokens leave through
///         `payFromPots`, `refundPot`, `settle`, `refund`, `reclaim`, `claim` and `withdrawFees`, and
///         through nothing else.
/// @dev `balanceOf(this) >= accounted()` always holds; what lies above `accounted()` was sent here
///      unasked and stays here.
contract Treasury is Pots, Deposits {
    using SafeERC20 for IERC20;

    event FeesWithdrawn(address indexed to, uint256 fees, uint256 residue);

    error FeesShort(uint256 wanted, uint256 due);

    constructor(
        IERC20 token,
        address initialOwner,
        uint256 initialFeeBps,
        address settler,
        address refunder,
        address guardian
    ) TreasuryBase(token, initialOwner, initialFeeBps, settler, refunder, guardian) {}

    /// @notice Takes fees out and, once they are gone, residue; never more than is due.
    function withdrawFees(address to, uint256 amount) external nonReentrant onlyOwner covered {
        require(to != address(0) && to != address(this), ZeroAddress());
        require(amount != 0, ZeroAmount());
        uint256 fees = amount < feesDue ? amount : feesDue;
        uint256 residue = amount - fees;
        require(residue <= residueDue, FeesShort(amount, feesDue + residueDue));
        feesDue -= fees;
        residueDue -= residue;
        emit FeesWithdrawn(to, fees, residue);
        usdc.safeTransfer(to, amount);
    }

    /// @inheritdoc TreasuryBase
    function accounted() public view override returns (uint256) {
        return potsTotal + depositsTotal + feesDue + residueDue + claimableTotal;
    }
}
