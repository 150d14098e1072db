// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Ownable, Ownable2Step} from "@openzeppelin/contracts/access/Ownable2Step.sol";
import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";
import {ReentrancyGuardTransient} from "@openzeppelin/contracts/utils/ReentrancyGuardTransient.sol";

/// @title Holds USDC for gigs and pays workers out of it.
/// @notice Every gig has a pot. Anyone may fill it; the settler pays workers from it, the fee on
///         top; the refunder gives a funder back at most what he put in. Tokens leave through
///         `payFromPots`, `refundPot` and `withdrawFees`, and through nothing else.
/// @dev Amounts are base units of the token (USDC: 1e-6). `balanceOf(this) >= accounted()` always
///      holds; what lies above `accounted()` was sent here unasked and stays here.
contract Treasury is Ownable2Step, ReentrancyGuardTransient {
    using SafeERC20 for IERC20;

    /// @notice What an account may do besides nothing: pay, refund, or pause.
    enum Role {
        Settler,
        Refunder,
        Guardian
    }

    /// @notice One item of a batch: `gross` to `to` out of the pot of `gigId`, the fee on top.
    struct Payout {
        bytes32 payoutId;
        bytes32 gigId;
        address to;
        uint256 gross;
    }

    /// @notice The fee can never be set above half.
    uint256 public constant MAX_FEE_BPS = 5000;
    /// @notice Keeps a batch far below the 16,777,216 gas that EIP-7825 allows a transaction.
    uint256 public constant MAX_BATCH = 100;
    /// @notice A pause ends by itself after this long.
    uint256 public constant PAUSE_SECONDS = 14 days;
    /// @notice After a pause has ended, none can begin for this long.
    uint256 public constant PAUSE_REST_SECONDS = 30 days;
    uint256 private constant BPS = 10_000;

    /// @notice The token, fixed for ever.
    IERC20 public immutable usdc;

    /// @notice The fee on top of every payout, in basis points.
    uint256 public feeBps;
    /// @notice Fees taken and not yet withdrawn.
    uint256 public feesDue;
    /// @notice The sum of all pots.
    uint256 public potsTotal;
    /// @notice What a gig's pot holds.
    mapping(bytes32 gigId => uint256 held) public pots;
    /// @notice What a funder put into a pot and did not get back.
    mapping(bytes32 gigId => mapping(address funder => uint256 amount)) public fundedBy;
    /// @notice True once a payout id is paid, for ever.
    mapping(bytes32 payoutId => bool spent) public payoutSpent;
    /// @notice True once a refund id is paid, for ever.
    mapping(bytes32 refundId => bool spent) public refundSpent;
    /// @notice Who holds which role.
    mapping(Role role => mapping(address account => bool held)) public hasRole;
    /// @notice The most that `payFromPots` may take from all pots together (gross + fee) in one UTC
    ///         day. The number is meant literally: 0 stops payouts; as deployed it is the largest
    ///         number there is, so nothing is limited. Refunds do not count: they only go back.
    uint256 public dailyCap = type(uint256).max;
    /// @notice The UTC day (seconds / 86400) that `takenToday` belongs to.
    uint256 public capDay;
    /// @notice What `payFromPots` took on `capDay`.
    uint256 public takenToday;
    /// @notice Payouts are stopped before this time.
    uint256 public pausedUntil;

    event PotDeposited(bytes32 indexed gigId, address indexed funder, uint256 amount);
    event PaidOut(
        bytes32 indexed payoutId, bytes32 indexed gigId, address indexed to, uint256 gross, uint256 fee
    );
    event PotRefunded(
        bytes32 indexed refundId, bytes32 indexed gigId, address indexed funder, uint256 amount
    );
    event FeesWithdrawn(address to, uint256 amount);
    event FeeChanged(uint256 oldBps, uint256 newBps);
    event DailyCapChanged(uint256 oldCap, uint256 newCap);
    event RoleChanged(Role indexed role, address indexed account, bool held);
    event Paused(address guardian, uint256 until);
    event Resumed(address account);

    error ZeroAddress();
    error ZeroAmount();
    error NotAContract(address token);
    error MissingRole(Role role, address account);
    error FeeTooHigh(uint256 bps, uint256 maxBps);
    error FeesShort(uint256 wanted, uint256 due);
    error PayoutsPaused(uint256 until);
    error PauseNotYet(uint256 notBefore);
    error NotPaused();
    error OwnerIsNeeded();

    error BatchEmpty();
    error BatchTooLong(uint256 length, uint256 max);
    error PayoutSpent(uint256 index, bytes32 payoutId);
    error PayoutOfNothing(uint256 index, bytes32 payoutId);
    error PayeeUnfit(uint256 index, bytes32 payoutId, address to);
    error PotShort(uint256 index, bytes32 payoutId, bytes32 gigId, uint256 needed, uint256 held);
    error OverDailyCap(uint256 index, bytes32 payoutId, uint256 needed, uint256 left);
    error PayoutRefused(uint256 index, bytes32 payoutId, address to, bytes reason);

    error RefundSpent(bytes32 refundId);
    error RefundAboveFunding(bytes32 refundId, uint256 wanted, uint256 funded);
    error RefundAbovePot(bytes32 refundId, uint256 wanted, uint256 held);
    error RefundRefused(bytes32 refundId, address funder, bytes reason);

    /// @param settler,refunder,guardian First holders of the roles; the zero address means nobody.
    constructor(
        IERC20 token,
        address initialOwner,
        uint256 initialFeeBps,
        address settler,
        address refunder,
        address guardian
    ) Ownable(initialOwner) {
        require(address(token).code.length != 0, NotAContract(address(token)));
        usdc = token;
        _setFee(initialFeeBps);
        if (settler != address(0)) _setRole(Role.Settler, settler, true);
        if (refunder != address(0)) _setRole(Role.Refunder, refunder, true);
        if (guardian != address(0)) _setRole(Role.Guardian, guardian, true);
    }

    modifier onlyRole(Role role) {
        require(hasRole[role][msg.sender], MissingRole(role, msg.sender));
        _;
    }

    // ---------------------------------------------------------------- money in

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

    // ---------------------------------------------------------------- money out

    /// @notice Pays every item, or none. Each item takes `gross` plus `gross * feeBps / 10000`,
    ///         rounded down, from its gig's pot. A payout id is spent once, for ever.
    function payFromPots(Payout[] calldata payouts) external nonReentrant onlyRole(Role.Settler) {
        require(block.timestamp >= pausedUntil, PayoutsPaused(pausedUntil));
        uint256 length = payouts.length;
        require(length != 0, BatchEmpty());
        require(length <= MAX_BATCH, BatchTooLong(length, MAX_BATCH));

        uint256 left = leftToday();
        uint256 taken;
        uint256 fees;
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
            Payout calldata item = payouts[i];
            (bool sent, bytes memory reason) = _send(item.to, item.gross);
            require(sent, PayoutRefused(i, item.payoutId, item.to, reason));
        }
    }

    /// @notice Gives `amount` back to `funder`: at most what he put into this pot and did not get
    ///         back, and at most what the pot still holds. Works during a pause.
    function refundPot(bytes32 refundId, bytes32 gigId, address funder, uint256 amount)
        external
        nonReentrant
        onlyRole(Role.Refunder)
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

    /// @notice Takes fees out, never more than are due.
    function withdrawFees(address to, uint256 amount) external nonReentrant onlyOwner {
        require(to != address(0) && to != address(this), ZeroAddress());
        require(amount != 0, ZeroAmount());
        require(amount <= feesDue, FeesShort(amount, feesDue));
        feesDue -= amount;
        emit FeesWithdrawn(to, amount);
        usdc.safeTransfer(to, amount);
    }

    // ---------------------------------------------------------------- reading

    /// @notice What this contract owes; its token balance is never below.
    function accounted() external view returns (uint256) {
        return potsTotal + feesDue;
    }

    /// @notice What `payFromPots` may still take from the pots today.
    function leftToday() public view returns (uint256) {
        uint256 taken = block.timestamp / 1 days == capDay ? takenToday : 0;
        return taken < dailyCap ? dailyCap - taken : 0;
    }

    // ---------------------------------------------------------------- pausing

    /// @notice Stops payouts for 14 days at most. Cannot begin again until 30 days after the end of
    ///         the last pause, so that a lost guardian key cannot hold money back for good.
    function pause() external onlyRole(Role.Guardian) {
        uint256 notBefore = pausedUntil == 0 ? 0 : pausedUntil + PAUSE_REST_SECONDS;
        require(block.timestamp >= notBefore, PauseNotYet(notBefore));
        pausedUntil = block.timestamp + PAUSE_SECONDS;
        emit Paused(msg.sender, pausedUntil);
    }

    /// @notice Ends a pause early; the guardian or the owner may.
    function resume() external {
        require(
            hasRole[Role.Guardian][msg.sender] || msg.sender == owner(),
            MissingRole(Role.Guardian, msg.sender)
        );
        require(block.timestamp < pausedUntil, NotPaused());
        pausedUntil = block.timestamp;
        emit Resumed(msg.sender);
    }

    // ---------------------------------------------------------------- the owner's settings

    /// @notice Changes the fee for every later payout.
    function setFeeBps(uint256 bps) external onlyOwner {
        _setFee(bps);
    }

    /// @notice Changes the daily cap at once, for today too.
    function setDailyCap(uint256 cap) external onlyOwner {
        emit DailyCapChanged(dailyCap, cap);
        dailyCap = cap;
    }

    /// @notice Gives or takes a role.
    function setRole(Role role, address account, bool held) external onlyOwner {
        require(account != address(0), ZeroAddress());
        _setRole(role, account, held);
    }

    /// @notice Always refused: without an owner the fees could never be taken out.
    function renounceOwnership() public view override onlyOwner {
        revert OwnerIsNeeded();
    }

    // ---------------------------------------------------------------- inside

    /// @dev Books one item against its pot and spends its id; `needed` is gross + fee.
    function _book(uint256 index, Payout calldata item) private returns (uint256 needed, uint256 fee) {
        bytes32 payoutId = item.payoutId;
        uint256 gross = item.gross;
        require(!payoutSpent[payoutId], PayoutSpent(index, payoutId));
        require(gross != 0, PayoutOfNothing(index, payoutId));
        require(
            item.to != address(0) && item.to != address(this) && item.to != address(usdc),
            PayeeUnfit(index, payoutId, item.to)
        );
        uint256 held = pots[item.gigId];
        // Compared before multiplying: an absurd amount is PotShort, not an overflow without a name.
        require(gross <= held, PotShort(index, payoutId, item.gigId, gross, held));
        fee = (gross * feeBps) / BPS;
        needed = gross + fee;
        require(needed <= held, PotShort(index, payoutId, item.gigId, needed, held));

        payoutSpent[payoutId] = true;
        pots[item.gigId] = held - needed;
        emit PaidOut(payoutId, item.gigId, item.to, gross, fee);
    }

    function _countTowardsCap(uint256 taken) private {
        uint256 today = block.timestamp / 1 days;
        if (capDay == today) {
            takenToday += taken;
        } else {
            capDay = today;
            takenToday = taken;
        }
    }

    /// @dev SafeERC20's rules (a token may answer nothing, or must answer true), but a refusal comes
    ///      back with the token's own reason, so that the caller can name the item it belongs to.
    function _send(address to, uint256 amount) private returns (bool sent, bytes memory reason) {
        (sent, reason) = address(usdc).call(abi.encodeCall(IERC20.transfer, (to, amount)));
        if (sent && reason.length != 0) sent = reason.length == 32 && uint256(bytes32(reason)) == 1;
    }

    function _setFee(uint256 bps) private {
        require(bps <= MAX_FEE_BPS, FeeTooHigh(bps, MAX_FEE_BPS));
        emit FeeChanged(feeBps, bps);
        feeBps = bps;
    }

    function _setRole(Role role, address account, bool held) private {
        hasRole[role][account] = held;
        emit RoleChanged(role, account, held);
    }
}
