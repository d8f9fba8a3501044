"""Tests sums and maxima of all sources, also of pairs of numbers that differ in one bit only."""

import random
from dataclasses import replace

import cocotb
import numpy as np
from cocotb.triggers import Timer

from hdl.switchgnn.switch.banks.sum_adders import SumAdders, SumsFrom
from hdl.switchgnn.switch.params import GnnSwitchParams
from sim.harness.payloads import pack, unpack
from sim.harness.verilator import params_in_simulator
from tests.hdl.switchgnn.switch.sizes import TINY
from tests.simulated import simulated

SOURCES = {SumsFrom.NEWEST: "newest", SumsFrom.OLDER: "older", SumsFrom.MEMORY: "stored"}

test_sum_adders = simulated(SumAdders, [TINY, replace(TINY, maxima=True)], __name__)


@cocotb.test(timeout_time=100, timeout_unit="us")
async def each_bit_decides(dut):
    """In each lane, of each source, two numbers differ in a bit, in both orders and signs."""
    params = params_in_simulator(GnnSwitchParams)
    maxima = (0, 1) if params.maxima else (0,)
    for bit in range(32):
        base = [random.getrandbits(31) for _ in range(params.bank_sums.length)]
        for sign, swapped in ((0, 0), (0, 1), (1, 0), (1, 1)):
            first = np.array([number | sign << 31 for number in base], np.uint32)
            pair = first, first ^ np.uint32(1 << bit)
            for source, maximum in ((source, maximum) for source in SumsFrom for maximum in maxima):
                await check(dut, params, pair[swapped], pair[1 - swapped], source, maximum)


async def check(dut, params, payload, other, source, maximum):
    """Check what becomes of ``payload`` and the ``other`` numbers, which are in ``source``."""
    payload, other = payload.view(np.int32), other.view(np.int32)
    for each, name in SOURCES.items():
        numbers = [int(number) for number in (other if each is source else payload ^ 0x5A5A5A5A)]
        getattr(dut, name).value = pack(params.bank_sums, numbers)
    dut.payload.value = pack(params.bank_sums, [int(number) for number in payload])
    dut.source.value = source.value
    if params.maxima:
        dut.maximum.value = maximum
    await Timer(1, "ns")
    expected = np.maximum(payload, other) if maximum else payload + other
    expected = payload if source is SumsFrom.NOWHERE else expected
    assert unpack(params.bank_sums, int(dut.after.value)) == expected.tolist()
