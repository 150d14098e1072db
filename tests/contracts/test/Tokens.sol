// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// @dev A token that is no USDC: it keeps a part, answers nothing or false, burns, or calls back.
contract OddToken {
    enum Answer {
        True,
        False,
        Nothing,
        Two
    }

    mapping(address account => uint256 units) public balanceOf;
    mapping(address account => mapping(address spender => uint256 units)) public allowance;
    /// @dev Kept of every transfer, in basis points.
    uint256 public keeps;
    Answer public answer;
    /// @dev Called with this data whenever tokens move.
    address public hooked;
    bytes public hook;

    function mint(address account, uint256 units) external {
        balanceOf[account] += units;
    }

    function burn(address account, uint256 units) external {
        balanceOf[account] -= units;
    }

    function setKeeps(uint256 bps) external {
        keeps = bps;
    }

    function setAnswer(Answer value) external {
        answer = value;
    }

    function setHook(address account, bytes calldata data) external {
        hooked = account;
        hook = data;
    }

    function approve(address spender, uint256 units) external returns (bool) {
        allowance[msg.sender][spender] = units;
        return true;
    }

    function transfer(address to, uint256 units) external {
        _move(msg.sender, to, units);
        _answer();
    }

    function transferFrom(address from, address to, uint256 units) external returns (bool) {
        allowance[from][msg.sender] -= units;
        _move(from, to, units);
        return true;
    }

    function _move(address from, address to, uint256 units) private {
        balanceOf[from] -= units;
        balanceOf[to] += units - (units * keeps) / 10_000;
        if (hooked != address(0)) {
            (bool done, bytes memory reason) = hooked.call(hook);
            if (!done) {
                assembly {
                    revert(add(reason, 32), mload(reason))
                }
            }
        }
    }

    function _answer() private view {
        if (answer == Answer.Nothing) return;
        uint256 word = answer == Answer.True ? 1 : answer == Answer.Two ? 2 : 0;
        assembly {
            mstore(0, word)
            return(0, 32)
        }
    }
}
