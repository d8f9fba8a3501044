"""Reduces numbers of hosts behind links, which lose, repeat and reorder frames."""

import random

import cocotb
import numpy as np
import pytest

from hdl.allreduce.switch_params import AllReduceSwitchParams
from sim.allreduce.hosts import Hosts
from sim.allreduce.rates import RateSession, RateWorkload
from sim.allreduce.surroundings.network import AllReduceNetwork, NetworkParams
from sim.golden.reduction.wide_frames import Operation
from sim.harness.in_simulator import params_in_simulator
from sim.harness.verilator import simulate
from sim.surroundings.link import ALWAYS, LinkParams

SWITCH = AllReduceSwitchParams(ports=4, banks=4, slots=64, jobs=1, most_numbers=2048)
LINK = LinkParams(depth=512, beats=SWITCH.frames.beats)


def test_network():
    simulate(AllReduceNetwork(NetworkParams(switch=SWITCH, link=LINK)), __name__)


def test_long_frames_need_a_switch_that_takes_them():
    """Hardware follows the frames, unless the user says how long they may be."""
    some = {length: RateSession.needs(RateWorkload(length=length)) for length in (256, 257, 2048)}
    assert some == {256: {}, 257: {"most_numbers": 512}, 2048: {"most_numbers": 2048}}
    RateSession.check(SWITCH, RateWorkload(length=2048))
    with pytest.raises(ValueError, match="length can be at most most_numbers, 256: 257"):
        RateSession.check(AllReduceSwitchParams(), RateWorkload(length=257))


def drawn(count):
    numbers = np.random.default_rng(random.getrandbits(32))
    return numbers.integers(-(1 << 31), 1 << 31, (SWITCH.ports, count))


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def numbers_fill_the_line(dut):
    """So much of it is numbers, both ways and at all ports, whatever is the length of frames."""
    for length, least, parts in ((2048, 0.99, 64), (256, 0.93, 160), (64, 0.80, 256)):
        hosts = Hosts(
            dut, params_in_simulator(NetworkParams), slots=64, length=length, timeout=9_999
        )
        await hosts.begin(latency=130)
        await hosts.reduce(drawn(length * parts), Operation.SUM)
        shares = hosts.shares()
        dut._log.info("%s", shares)
        assert min(shares) >= least


@cocotb.test(timeout_time=1, timeout_unit="ms")
@cocotb.parametrize((("length", "slots", "timeout"), [(40, 16, 600), (2048, 4, 1600)]))
async def results_are_exact_on_bad_links(dut, length, slots, timeout):
    """Links lose 30 % of the frames, and repeat, reorder and spoil others."""
    some = ALWAYS // 20
    faults = {"drop": 3 * ALWAYS // 10, "duplicate": some, "reorder": some, "corrupt": some}
    options = {"slots": slots, "length": length, "timeout": timeout}
    hosts = Hosts(dut, params_in_simulator(NetworkParams), **options)
    await hosts.begin(latency=20, displacement=40, seed=random.getrandbits(32), **faults)
    for operation in Operation:
        await hosts.reduce(drawn(4 * slots * length - 33), operation)
    verdicts = await hosts.host.verdicts()
    assert all(verdicts[0][name] for name in ("REPEATED_PARTIAL", "REPEATED_ACK", "CORRUPT"))
