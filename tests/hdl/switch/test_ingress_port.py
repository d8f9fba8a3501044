"""Sends any packet to a port whose queue is mostly full or mostly empty, and checks each cycle."""

import random

import cocotb
from cocotb.triggers import RisingEdge

from hdl.p4sgd.switch.params import SwitchParams
from hdl.switch.frame_filter import Quality
from hdl.switch.ingress_port import IngressPort
from sim.harness.payloads import unpack
from sim.harness.streams import start
from sim.harness.verilator import params_in_simulator, simulate
from tests.hdl.switch.ingress_model import PortModel, agrees

PARAMS = SwitchParams(ports=2, jobs=3, ingress_depth=4)


def test_ingress_port():
    simulate(IngressPort(PARAMS), __name__)


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def queues_what_it_judges(dut):
    params = params_in_simulator(SwitchParams)
    model, seen, lost = PortModel(dut, "axis", params), set(), 0
    dut.axis_tvalid.value = dut.packets_ready.value = 0
    await start(dut)
    for k in range(10000):
        if k % 60 == 0:
            if model.still:
                address, bit = random.randbytes(6), random.choice((1, 2, random.getrandbits(32)))
            model.load, eager = random.choice((0.1, 0.6, 1)), random.choice((0, 0.4, 0.9, 1))
        elif k % 60 == 50:
            model.load = 0  # then the address may change
        model.drive(address, bit)
        dut.address.value, dut.bit.value = int.from_bytes(address, "little"), bit
        dut.packets_ready.value = ready = int(random.random() < eager)
        await RisingEdge(dut.clk)
        assert bool(dut.packets_valid.value) == bool(model.queue), k
        assert bool(dut.overflow.value) == model.overflow, k
        lost += model.overflow
        if model.queue:
            result = unpack(params.packet, int(dut.packets_payload.value))
            assert agrees(result, model.queue[0]), (k, result, model.queue[0])
            seen.add(result["quality"])
        model.step(ready and bool(model.queue))
    assert seen == set(Quality)
    assert lost > 100
