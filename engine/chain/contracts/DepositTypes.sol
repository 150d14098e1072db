// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// @title What a deposit is made of, and every event and refusal about deposits.
abstract contract DepositTypes {
    enum State {
        None,
        Open,
        Settled,
        Refunded
    }

    /// @notice What a deposit is for. `amount` holds gross and fee. A `payee` of zero means that he
    ///         is not known yet: the settler names him, and the payout counts towards the daily cap.
    struct Terms {
        address depositor;
        address payee;
        bytes32 gigId;
        uint256 amount;
        uint256 feeBps;
        address reclaimer;
        bytes32 salt;
    }

    /// @notice One item of a batch: `amount` of a deposit to `to`, the fee out of the deposit too.
    struct Settlement {
        bytes32 payoutId;
        bytes32 depositId;
        address to;
        uint256 amount;
    }

    /// @notice What is kept of a deposit, for ever. Times are seconds since 1970.
    struct Deposit {
        address depositor;
        uint40 openedAt;
        uint16 feeBps;
        State state;
        address payee;
        uint40 reclaimAt;
        address reclaimer;
        uint96 amount;
        bytes32 gigId;
    }

    /// @dev What one batch adds up to.
    struct Sums {
        uint256 held;
        uint256 fees;
        uint256 residue;
        uint256 counted;
    }

    event DepositOpened(
        bytes32 indexed depositId,
        bytes32 indexed gigId,
        address indexed depositor,
        address payee,
        uint256 amount,
        uint256 feeBps
    );
    event DepositSettled(
        bytes32 indexed payoutId,
        bytes32 indexed depositId,
        bytes32 indexed gigId,
        address to,
        uint256 amount,
        uint256 fee,
        uint256 residue
    );
    event DepositRefunded(
        bytes32 indexed depositId,
        bytes32 indexed gigId,
        address indexed depositor,
        uint256 amount,
        bool kept
    );
    event DepositReclaimed(
        bytes32 indexed depositId,
        bytes32 indexed gigId,
        address indexed depositor,
        uint256 amount,
        bool kept
    );
    event ReclaimRequested(bytes32 indexed depositId, bytes32 indexed gigId, uint256 reclaimAt);
    event Claimed(address indexed account, uint256 amount);

    error DepositExists(bytes32 depositId, State state);
    error DepositorOnly(bytes32 depositId, address account);
    error DepositTooLarge(bytes32 depositId, uint256 amount, uint256 max);
    error DepositPayeeUnfit(bytes32 depositId, address payee);
    error DepositShort(bytes32 depositId, uint256 wanted, uint256 received);
    error FeeMoved(bytes32 depositId, uint256 termsBps, uint256 presentBps);

    error SettleNotOpen(uint256 index, bytes32 payoutId, bytes32 depositId, State state);
    error SettlePayeeFixed(
        uint256 index, bytes32 payoutId, bytes32 depositId, address to, address payee
    );
    error SettleShort(uint256 index, bytes32 payoutId, bytes32 depositId, uint256 needed, uint256 held);
    error SettleResidue(
        uint256 index, bytes32 payoutId, bytes32 depositId, uint256 residue, uint256 below
    );

    error DepositNotOpen(bytes32 depositId, State state);
    error ReclaimNotYours(bytes32 depositId, address account);
    error ReclaimTooEarly(bytes32 depositId, uint256 notBefore);
    error ReclaimRequestedBefore(bytes32 depositId, uint256 reclaimAt);
    error ReclaimNotRequested(bytes32 depositId);
    error NothingToClaim(address account);
    error ClaimRefused(address account, bytes reason);
}
