"""A MAC's far end pauses priorities, which the core holds, and is paused by core and buffer."""

import random

import cocotb

from hdl.common.packets import PRIORITY_COUNT
from hdl.u280.flow_control import FlowControlParams
from hdl.u280.mac import Mac, MacParams
from hdl.u280.mac_resets import MacResetsParams
from hdl.u280.mac_signals import SETTINGS
from hdl.u280.mac_transmit import MacTransmitParams
from sim.harness.streams import never, often, rarely
from sim.harness.verilator import simulate
from tests.hdl.common.crossing.clocks import start
from tests.hdl.u280.packet_bench import LOOP, Sender, Taker, count_beats, linked, until

LINK = FlowControlParams(beats=1024, frame_bytes=512, fibre_metres=0)
MOST = 32  #: beats that wait before the MAC, and a few on the way there
CROSSING = 40  #: beats in the registers and the FIFO from the core to the buffer
ALL = (1 << PRIORITY_COUNT) - 1


def test_priorities_through_a_loop():
    params = MacParams(
        cage=0,
        flow="priorities",
        link=LINK,
        packets=MacTransmitParams(beats=64, most=MOST),
        resets=MacResetsParams(settle=64, patience=200, pulse=50),
    )
    simulate(Mac(params), __name__, extra_sources=[LOOP])


async def begin(dut):
    dut.transmit_0_tvalid.value = dut.demands.value = dut.pause.value = 0
    for name in ("paused", "missing", "remote", "lost", "mishap", "words"):
        getattr(dut.cmac, name).value = 0
    dut.settings.value = SETTINGS.const({"rsfec": 1}).as_value().value
    core, _ = await start(dut, sync=4000, apb=3104)
    return core


@cocotb.test(timeout_time=100, timeout_unit="us")
@cocotb.parametrize(stalls=[(never, never), (often, rarely), (rarely, often)])
async def packets_of_all_kinds_come_back(dut, stalls):
    core = await begin(dut)
    sender, taker = (
        Sender(core, "transmit_0", stall=stalls[0]),
        Taker(core, "receive_0", stall=stalls[1]),
    )
    packets = [random.randbytes(random.randint(60, 64 * (MOST - 4))) for _ in range(60)]
    packets = [packet[:-1] + bytes((packet[-1] & 0x7F,)) for packet in packets]
    await sender.send(packets)
    await taker.wait_for(count_beats(packets))
    assert taker.packets() == packets


@cocotb.test(timeout_time=50, timeout_unit="us")
async def pauses_pass_both_ways(dut):
    core = await begin(dut)
    await until(core, lambda: linked(dut))
    for _ in range(12):
        dut.pause.value = pause = random.getrandbits(PRIORITY_COUNT)
        dut.cmac.paused.value = paused = random.getrandbits(PRIORITY_COUNT + 1)
        await core.edges(60)
        assert dut.cmac.pausing.value == pause
        assert int(dut.paused.value) == int(dut.cmac.acknowledged.value) == paused & ALL


@cocotb.test(timeout_time=100, timeout_unit="us")
async def a_core_that_takes_nothing_pauses_all(dut):
    """The buffer holds more than enough to say so, whatever the core wants."""
    core = await begin(dut)
    dut.receive_0_tready.value = 0
    await until(core, lambda: linked(dut))
    sender = Sender(core, "transmit_0")
    await sender.send([bytes(60)] * LINK.resume_at)
    await core.edges(200)
    assert not dut.cmac.pausing.value
    await sender.send([bytes(60)] * (LINK.stop_above - LINK.resume_at + 40))
    await core.edges(200)
    assert dut.cmac.pausing.value == ALL
    dut.receive_0_tready.value = 1
    await until(core, lambda: not dut.cmac.pausing.value)


@cocotb.test(timeout_time=50, timeout_unit="us")
async def few_packets_wait_before_the_mac(dut):
    """So what the core has begun before a pause leaves in time."""
    core = await begin(dut)
    dut.cmac.remote.value = 1  # nothing is sent
    sender = Sender(core, "transmit_0")
    cocotb.start_soon(sender.send([bytes(60)] * 200))
    await core.edges(400)
    assert MOST <= 200 - sender.missing <= MOST + CROSSING
