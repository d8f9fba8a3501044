"""Tests when the turns of a job end that has switches above: all of these must have ended them."""

import random
from dataclasses import replace

import cocotb

from hdl.switchgnn.switch.turns.job_turns import JobTurns
from sim.harness.streams import edges, start
from sim.harness.verilator import simulate
from tests.hdl.switchgnn.switch.sizes import TINY

BELOW, ABOVE = 0b0011, 0b11100  #: ports of the job; port 4 is not one of them in some runs


def test_job_turns():
    simulate(JobTurns(replace(TINY, ports=5, links=3)), __name__)


async def events(dut, **pulse):
    """Give these inputs for a cycle; return whether DONE was said, and whether a turn ended."""
    seen = {"said": 0, "ended": 0}
    for cycle in range(8):
        for name in ("done", "advanced", "opened", "begin"):
            getattr(dut, name).value = pulse.get(name, 0) if cycle == 0 else 0
        dut.sender.value = pulse.get("sender", 0) if cycle == 0 else random.getrandbits(5)
        dut.quiet.value = cycle > 3  # no frame is being judged
        await edges(dut.clk, 1)
        for name in seen:
            seen[name] += int(getattr(dut, name).value)
    return seen


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def a_turn_ends_with_the_last_advance(dut):
    for name in ("begin", "stop", "two", "turn", "done", "sender", "quiet", "opened", "advanced"):
        getattr(dut, name).value = 0
    await start(dut)
    dut.up.value = ABOVE
    for ports in (BELOW | ABOVE, BELOW | 0b01100, BELOW | 0b01000):
        dut.ports.value = ports
        await events(dut, begin=1)
        for turn in range(20):
            await events(dut, opened=1)
            done = over = 0
            while over != ports & ABOVE:
                sender = random.choice([1 << k for k in range(5) if ports >> k & 1])
                if sender & BELOW:
                    seen, done = await events(dut, done=1, sender=sender), done | sender
                    assert seen == {"said": done == BELOW, "ended": 0}
                elif done == BELOW:
                    seen, over = await events(dut, advanced=1, sender=sender), over | sender
                    assert seen == {"said": 0, "ended": over == ports & ABOVE}
            assert int(dut.lo.value) == turn + 1
