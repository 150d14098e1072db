// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {IERC3009} from "@openzeppelin/contracts/interfaces/draft-IERC3009.sol";
import {SafeERC20, IERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";
import {DepositTypes} from "./DepositTypes.sol";
import {TreasuryBase} from "./TreasuryBase.sol";

/// @title Deposits with a name: money put in on terms that nobody can change afterwards.
/// @notice A deposit's id is the hash of its terms. It is settled once, or given back once: by the
///         refunder, or by its depositor himself when nobody has settled it for 120 days.
abstract contract Deposits is TreasuryBase, DepositTypes {
    using SafeERC20 for IERC20;

    /// @notice A reclaim can be announced so long after the opening.
    uint256 public constant RECLAIM_AFTER_SECONDS = 90 days;
    /// @notice A reclaim can be carried out so long after it was announced.
    uint256 public constant RECLAIM_NOTICE_SECONDS = 30 days;

    /// @notice Every deposit by its id.
    mapping(bytes32 depositId => Deposit) public deposits;
    /// @notice The sum of all open deposits.
    uint256 public depositsTotal;
    /// @notice What settlements left of their deposits, not yet withdrawn.
    uint256 public residueDue;
    /// @notice Given back, but refused by the token: `claim` takes it.
    mapping(address account => uint256 amount) public claimable;
    /// @notice The sum of all that can be claimed.
    uint256 public claimableTotal;

    // ---------------------------------------------------------------- opening

    /// @notice The id of a deposit on these terms, in this contract on this chain.
    function depositIdOf(Terms calldata terms) public view returns (bytes32) {
        return keccak256(abi.encode(block.chainid, address(this), terms));
    }

    /// @notice Puts the caller's tokens in, on these terms. Needs an allowance.
    function depositFor(Terms calldata terms) external nonReentrant {
        require(
            msg.sender == terms.depositor, DepositorOnly(depositIdOf(terms), msg.sender)
        );
        bytes32 depositId = _open(terms);
        uint256 before = usdc.balanceOf(address(this));
        usdc.safeTransferFrom(msg.sender, address(this), terms.amount);
        _arrived(depositId, terms.amount, before);
    }

    /// @notice The same with the depositor's signature instead of his transaction: anyone may hand
    ///         it in, and nobody can alter a term, for the signed nonce is the deposit's id.
    function depositWithAuthorization(
        Terms calldata terms,
        uint256 validAfter,
        uint256 validBefore,
        uint8 v,
        bytes32 r,
        bytes32 s
    ) external nonReentrant {
        bytes32 depositId = _open(terms);
        uint256 before = usdc.balanceOf(address(this));
        IERC3009(address(usdc)).receiveWithAuthorization(
            terms.depositor, address(this), terms.amount, validAfter, validBefore, depositId, v, r, s
        );
        _arrived(depositId, terms.amount, before);
    }

    // ---------------------------------------------------------------- settling

    /// @notice Settles every item, or none. Each takes `amount` and its fee, at the rate of the
    ///         deposit's terms, out of one open deposit; what is left stays here as residue and must
    ///         be less than one cent and the fee on it. A payout id is spent once, for ever.
    function settle(Settlement[] calldata items)
        external
        nonReentrant
        onlyRole(Role.Settler)
        notPaused
    {
        uint256 length = items.length;
        _checkBatch(length);
        uint256 left = leftToday();
        Sums memory sums = Sums({held: 0, fees: 0, residue: 0, counted: 0});
        for (uint256 i; i < length; ++i) {
            _settle(i, items[i], left, sums);
        }
        depositsTotal -= sums.held;
        feesDue += sums.fees;
        residueDue += sums.residue;
        if (sums.counted != 0) _countTowardsCap(sums.counted);

        // All books are closed before the first token leaves.
        for (uint256 i; i < length; ++i) {
            _payOut(i, items[i].payoutId, items[i].to, items[i].amount);
        }
    }

    // ---------------------------------------------------------------- giving back

    /// @notice Gives an open deposit back to its depositor, whole. Works during a pause. What the
    ///         token refuses to send can be claimed later.
    function refund(bytes32 depositId) external nonReentrant onlyRole(Role.Refunder) {
        Deposit storage item = _opened(depositId);
        bool kept = _giveBack(item);
        emit DepositRefunded(depositId, item.gigId, item.depositor, item.amount, kept);
    }

    /// @notice Announces a reclaim: by the depositor or the terms' reclaimer, 90 days after the
    ///         opening or later. Approved work can still be settled for 30 days.
    function requestReclaim(bytes32 depositId) external {
        Deposit storage item = _reclaimable(depositId);
        require(item.reclaimAt == 0, ReclaimRequestedBefore(depositId, item.reclaimAt));
        uint256 notBefore = item.openedAt + RECLAIM_AFTER_SECONDS;
        require(block.timestamp >= notBefore, ReclaimTooEarly(depositId, notBefore));
        uint256 reclaimAt = block.timestamp + RECLAIM_NOTICE_SECONDS;
        item.reclaimAt = uint40(reclaimAt);
        emit ReclaimRequested(depositId, item.gigId, reclaimAt);
    }

    /// @notice Gives a deposit back to its depositor when its announced time has come.
    function reclaim(bytes32 depositId) external nonReentrant {
        Deposit storage item = _reclaimable(depositId);
        require(item.reclaimAt != 0, ReclaimNotRequested(depositId));
        require(block.timestamp >= item.reclaimAt, ReclaimTooEarly(depositId, item.reclaimAt));
        bool kept = _giveBack(item);
        emit DepositReclaimed(depositId, item.gigId, item.depositor, item.amount, kept);
    }

    /// @notice Takes what the token once refused to give back to the caller.
    function claim() external nonReentrant {
        uint256 amount = claimable[msg.sender];
        require(amount != 0, NothingToClaim(msg.sender));
        claimable[msg.sender] = 0;
        claimableTotal -= amount;
        emit Claimed(msg.sender, amount);
        (bool sent, bytes memory reason) = _send(msg.sender, amount);
        require(sent, ClaimRefused(msg.sender, reason));
    }

    // ---------------------------------------------------------------- inside

    /// @dev Books a deposit as open; the tokens follow in the same transaction.
    function _open(Terms calldata terms) private returns (bytes32 depositId) {
        depositId = depositIdOf(terms);
        State state = deposits[depositId].state;
        require(state == State.None, DepositExists(depositId, state));
        require(terms.amount != 0, ZeroAmount());
        uint256 max = type(uint96).max;
        require(terms.amount <= max, DepositTooLarge(depositId, terms.amount, max));
        require(terms.feeBps == feeBps, FeeMoved(depositId, terms.feeBps, feeBps));
        require(
            terms.payee == address(0) || !_unfit(terms.payee),
            DepositPayeeUnfit(depositId, terms.payee)
        );
        deposits[depositId] = Deposit({
            depositor: terms.depositor,
            openedAt: uint40(block.timestamp),
            feeBps: uint16(terms.feeBps),
            state: State.Open,
            payee: terms.payee,
            reclaimAt: 0,
            reclaimer: terms.reclaimer,
            amount: uint96(terms.amount),
            gigId: terms.gigId
        });
        depositsTotal += terms.amount;
        emit DepositOpened(
            depositId, terms.gigId, terms.depositor, terms.payee, terms.amount, terms.feeBps
        );
    }

    /// @dev The terms name an amount: all of it must have come, and nothing more is booked.
    function _arrived(bytes32 depositId, uint256 wanted, uint256 before) private view {
        uint256 received = usdc.balanceOf(address(this)) - before;
        require(received >= wanted, DepositShort(depositId, wanted, received));
    }

    /// @dev Books one item, spends its id and adds it to the sums.
    function _settle(uint256 index, Settlement calldata item, uint256 left, Sums memory sums) private {
        bytes32 payoutId = item.payoutId;
        Deposit storage kept = deposits[item.depositId];
        _spend(index, payoutId);
        require(
            kept.state == State.Open, SettleNotOpen(index, payoutId, item.depositId, kept.state)
        );
        address payee = kept.payee;
        require(
            payee == address(0) || item.to == payee,
            SettlePayeeFixed(index, payoutId, item.depositId, item.to, payee)
        );
        require(!_unfit(item.to), PayeeUnfit(index, payoutId, item.to));
        (uint256 fee, uint256 residue) = _split(index, item, kept.amount, kept.feeBps);
        if (payee == address(0)) {
            uint256 needed = item.amount + fee;
            uint256 free = left - sums.counted;
            require(needed <= free, OverDailyCap(index, payoutId, needed, free));
            sums.counted += needed;
        }

        kept.state = State.Settled;
        sums.held += kept.amount;
        sums.fees += fee;
        sums.residue += residue;
        emit DepositSettled(
            payoutId, item.depositId, kept.gigId, item.to, item.amount, fee, residue
        );
    }

    /// @dev Of `held`, what the fee takes and what the item leaves; refused when either is too much.
    function _split(uint256 index, Settlement calldata item, uint256 held, uint256 bps)
        private
        pure
        returns (uint256 fee, uint256 residue)
    {
        bytes32 payoutId = item.payoutId;
        bytes32 depositId = item.depositId;
        uint256 needed = item.amount;
        require(needed != 0, PayoutOfNothing(index, payoutId));
        // Compared before multiplying, as for pots.
        require(needed <= held, SettleShort(index, payoutId, depositId, needed, held));
        fee = _feeOf(needed, bps);
        needed += fee;
        require(needed <= held, SettleShort(index, payoutId, depositId, needed, held));
        residue = held - needed;
        uint256 below = BPS + bps;
        require(residue < below, SettleResidue(index, payoutId, depositId, residue, below));
    }

    function _opened(bytes32 depositId) private view returns (Deposit storage item) {
        item = deposits[depositId];
        require(item.state == State.Open, DepositNotOpen(depositId, item.state));
    }

    function _reclaimable(bytes32 depositId) private view returns (Deposit storage item) {
        item = _opened(depositId);
        require(
            msg.sender == item.depositor || msg.sender == item.reclaimer,
            ReclaimNotYours(depositId, msg.sender)
        );
    }

    /// @dev To the depositor, or kept for him when the token refuses.
    function _giveBack(Deposit storage item) private returns (bool kept) {
        address depositor = item.depositor;
        uint256 amount = item.amount;
        item.state = State.Refunded;
        depositsTotal -= amount;
        (bool sent,) = _send(depositor, amount);
        kept = !sent;
        if (kept) {
            claimable[depositor] += amount;
            claimableTotal += amount;
        }
    }
}
