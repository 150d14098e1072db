// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Ownable, Ownable2Step} from "@openzeppelin/contracts/access/Ownable2Step.sol";
import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {ReentrancyGuardTransient} from "@openzeppelin/contracts/utils/ReentrancyGuardTransient.sol";

/// @title What pots and deposits share: the token, the fee, who may do what, the cap, the pause.
/// @dev Amounts are base units of the token (USDC: 1e-6).
abstract contract TreasuryBase is Ownable2Step, ReentrancyGuardTransient {
    /// @notice What an account may do besides nothing: pay, refund, or pause.
    enum Role {
        Settler,
        Refunder,
        Guardian
    }

    /// @notice The fee can never be set above half.
    uint256 public constant MAX_FEE_BPS = 5000;
    /// @notice Keeps a batch far below the 16,777,216 gas that EIP-7825 allows a transaction.
    uint256 public constant MAX_BATCH = 100;
    /// @notice A pause ends by itself after this long.
    uint256 public constant PAUSE_SECONDS = 14 days;
    /// @notice After a pause has ended, none can begin for this long.
    uint256 public constant PAUSE_REST_SECONDS = 30 days;
    uint256 internal constant BPS = 10_000;

    /// @notice The token, fixed for ever.
    IERC20 public immutable usdc;

    /// @notice The fee on top of every payout, in basis points.
    uint256 public feeBps;
    /// @notice Fees taken and not yet withdrawn.
    uint256 public feesDue;
    /// @notice True once a payout id is paid, from a pot or from a deposit, for ever.
    mapping(bytes32 payoutId => bool spent) public payoutSpent;
    /// @notice Who holds which role.
    mapping(Role role => mapping(address account => bool held)) public hasRole;
    /// @notice The most that may leave in one UTC day, gross + fee, to payees whom the settler names:
    ///         everything out of pots, and deposits with an open payee. The number is meant literally:
    ///         0 stops such payouts; as deployed it is the largest number there is, so nothing is
    ///         limited. Refunds do not count: they only go back.
    uint256 public dailyCap = type(uint256).max;
    /// @notice The UTC day (seconds / 86400) that `takenToday` belongs to.
    uint256 public capDay;
    /// @notice What counted towards the cap on `capDay`.
    uint256 public takenToday;
    /// @notice Payouts are stopped before this time.
    uint256 public pausedUntil;

    event FeeChanged(uint256 oldBps, uint256 newBps);
    event DailyCapChanged(uint256 oldCap, uint256 newCap);
    event RoleChanged(Role indexed role, address indexed account, bool held);
    event Paused(address indexed guardian, uint256 until);
    event Resumed(address indexed account);

    error ZeroAddress();
    error ZeroAmount();
    error NotAContract(address token);
    error MissingRole(Role role, address account);
    error FeeTooHigh(uint256 bps, uint256 maxBps);
    error PayoutsPaused(uint256 until);
    error PauseNotYet(uint256 notBefore);
    error NotPaused();
    error OwnerIsNeeded();
    error NotCovered(uint256 held, uint256 owed);

    error BatchEmpty();
    error BatchTooLong(uint256 length, uint256 max);
    error PayoutSpent(uint256 index, bytes32 payoutId);
    error PayoutOfNothing(uint256 index, bytes32 payoutId);
    error PayeeUnfit(uint256 index, bytes32 payoutId, address to);
    error OverDailyCap(uint256 index, bytes32 payoutId, uint256 needed, uint256 left);
    error PayoutRefused(uint256 index, bytes32 payoutId, address to, bytes reason);

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

    modifier notPaused() {
        require(block.timestamp >= pausedUntil, PayoutsPaused(pausedUntil));
        _;
    }

    /// @dev What pots and fees give away is never what somebody else is owed.
    modifier covered() {
        _;
        uint256 held = usdc.balanceOf(address(this));
        uint256 owed = accounted();
        require(held >= owed, NotCovered(held, owed));
    }

    // ---------------------------------------------------------------- reading

    /// @notice What this contract owes; its token balance is never below.
    function accounted() public view virtual returns (uint256);

    /// @notice What may still count towards the cap today.
    function leftToday() public view returns (uint256) {
        uint256 taken = block.timestamp / 1 days > capDay ? 0 : takenToday;
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

    /// @notice Changes the fee for every later payout; an open deposit keeps the rate of its terms.
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

    function _checkBatch(uint256 length) internal pure {
        require(length != 0, BatchEmpty());
        require(length <= MAX_BATCH, BatchTooLong(length, MAX_BATCH));
    }

    /// @dev Spends an id, whichever function pays it.
    function _spend(uint256 index, bytes32 payoutId) internal {
        require(!payoutSpent[payoutId], PayoutSpent(index, payoutId));
        payoutSpent[payoutId] = true;
    }

    /// @dev Whom a payout may never go to: nobody, ourselves and the token.
    function _unfit(address to) internal view returns (bool) {
        return to == address(0) || to == address(this) || to == address(usdc);
    }

    function _feeOf(uint256 gross, uint256 bps) internal pure returns (uint256) {
        return (gross * bps) / BPS;
    }

    function _countTowardsCap(uint256 taken) internal {
        uint256 today = block.timestamp / 1 days;
        if (today > capDay) {
            capDay = today;
            takenToday = taken;
        } else {
            takenToday += taken;
        }
    }

    function _payOut(uint256 index, bytes32 payoutId, address to, uint256 amount) internal {
        (bool sent, bytes memory reason) = _send(to, amount);
        require(sent, PayoutRefused(index, payoutId, to, reason));
    }

    /// @dev SafeERC20's rules (a token may answer nothing, or must answer true), but a refusal comes
    ///      back with the token's own reason, so that the caller can name the item it belongs to.
    function _send(address to, uint256 amount) internal returns (bool sent, bytes memory reason) {
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
