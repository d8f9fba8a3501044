import random
from itertools import product

import cocotb
from cocotb.triggers import Timer

from hdl.netsparse.host.params import HostParams
from hdl.netsparse.host.rotator import Rotator
from tests.simulated import simulated

test_rotator = simulated(Rotator, [HostParams(units=1)], __name__)


@cocotb.test(timeout_time=1, timeout_unit="us")
async def turns_words(dut):
    number = random.getrandbits(512)  # and the other value of every bit
    for up, flip in product(range(16), (0, (1 << 512) - 1)):
        content = (number ^ flip).to_bytes(64, "little")
        dut.i.value = int.from_bytes(content, "little")
        dut.up.value = up
        await Timer(1, "ns")
        turned = content[64 - 4 * up :] + content[: 64 - 4 * up]
        assert int(dut.o.value) == int.from_bytes(turned, "little")
