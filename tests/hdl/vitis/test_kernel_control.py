import random

import cocotb

from hdl.vitis.kernel_control import KernelControl
from hdl.vitis.kernel_registers import IDENTITY, VERSION, KernelParams, kernel_registers
from sim.harness.bench import Bench
from sim.harness.register_driver import RegisterDriver
from tests.rejects import rejects
from tests.simulated import simulated

NAMES = ("words_0", "labels", "model")
PARAMS = KernelParams(managers=NAMES, copies=True)

test_kernel_control = simulated(KernelControl, [PARAMS], __name__)
test_rejects = rejects(
    KernelParams,
    ({"managers": ("a",) * 33}, "managers must be at most 32: 33"),
    ({"managers": (), "copies": True, "interrupt": "irq"}, "copies need a design with busy, not"),
)


class ControlBench(Bench):
    """Has the registers, and a host that reads and writes them."""

    async def begin(self):
        self.host = RegisterDriver(self.dut, "axil", kernel_registers(PARAMS))
        await super().begin(after_anything=True)
        return self

    async def point(self, **pointers):
        await self.host.write_wide(**{f"pointer_{k}": v for k, v in pointers.items()})
        await self.wait(2)

    def pages(self):
        return [int(getattr(self.dut, f"pages_{k}").value) for k in range(len(NAMES))]


@cocotb.test(timeout_time=50, timeout_unit="us")
@cocotb.parametrize(busy=["design_busy", "copy_busy"])
async def pointers_change_between_runs_only(dut, busy):
    bench = await ControlBench(dut).begin()
    first, second = ([random.getrandbits(52) for _ in NAMES] for _ in range(2))
    await bench.point(**{name: page << 12 for name, page in zip(NAMES, first, strict=True)})
    assert bench.pages() == first
    bench.set(**{busy: 1})
    await bench.point(**{name: page << 12 for name, page in zip(NAMES, second, strict=True)})
    assert bench.pages() == first
    assert not await bench.host.read("interrupt_request")
    bench.set(**{busy: 0})
    await bench.wait(2)
    assert bench.pages() == second
    await bench.host.write(interrupt_enable=1)
    await bench.wait(2)
    assert dut.irq.value
    bench.set(**{busy: 1})
    dut.rst.value = 1
    await bench.wait(3)
    assert not dut.irq.value
    dut.rst.value = 0
    await bench.wait()
    assert bench.pages() == [0] * len(NAMES)


@cocotb.test(timeout_time=50, timeout_unit="us")
async def a_pointer_inside_a_page_is_reported(dut):
    bench = await ControlBench(dut).begin()
    for k, name in enumerate(NAMES):
        for bit in (0, 5, 11, 12):
            await bench.point(**{name: 7 << 13 | 1 << bit})
            assert await bench.host.read("misaligned") == (bit < 12) << k
            assert bench.pages()[k] == 14 + (bit == 12)
        await bench.point(**{name: 0})


@cocotb.test(timeout_time=50, timeout_unit="us")
async def a_copy_is_started_and_its_state_is_shown(dut):
    bench = await ControlBench(dut).begin()
    assert await bench.host.read("kernel") == IDENTITY
    assert await bench.host.read("kernel_version") == VERSION
    offset, beats = random.getrandbits(32), random.getrandbits(29)
    await bench.host.write(copy_offset=offset, copy_beats=beats)
    loads, stores = bench.record("load"), bench.record("store")
    await bench.host.write(load_model=1)
    await bench.host.write(store_model=1)
    await bench.host.write(store_model=1)
    assert (len(loads.beats), len(stores.beats)) == (1, 2)
    assert bench.value("transfer") == {"offset": offset, "beats": beats}
    shown = {"failed_beats": random.getrandbits(29), "failed_bursts": random.getrandbits(29)}
    for name in ("copy_busy", "copy_done", "copy_broken"):
        bench.set(**shown, **{name: 1})
        for field in ("copy_busy", "copy_done", "copy_broken", *shown):
            assert await bench.host.read(field) == (field == name) + shown.get(field, 0)
        bench.set(**{name: 0})


@cocotb.test(timeout_time=50, timeout_unit="us")
async def lost_packets_are_counted_and_the_interrupt_is_a_level(dut):
    bench = await ControlBench(dut).begin()
    await bench.play([{"dropped": int(k % 3 == 0)} for k in range(30)])
    assert await bench.host.read("dropped_packets") == 10
    await bench.host.write(clear_dropped=1)
    assert await bench.host.read("dropped_packets") == 0
    assert not dut.irq.value
    await bench.host.write(interrupt_enable=1)
    await bench.wait(2)
    assert dut.irq.value
    for name in ("design_busy", "copy_busy"):
        bench.set(**{name: 1})
        await bench.wait(2)
        assert not dut.irq.value
        bench.set(**{name: 0})
        await bench.wait(2)
        assert dut.irq.value


@cocotb.test(timeout_time=50, timeout_unit="us")
async def the_time_out_ticks(dut):
    bench = await ControlBench(dut).begin()
    ticks = bench.record("tick")
    await bench.host.write(memory_timeout=18)
    await bench.wait(200)
    assert len(ticks.beats) in (9, 10, 11)
