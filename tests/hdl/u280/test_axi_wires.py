import pytest
from amaranth.hdl import Module
from amaranth.sim import Simulator

from hdl.common.axi import Axi4Signature, AxiLiteSignature
from hdl.u280.axi_wires import bus_ports, bus_wires, connect_bus

WIDE = Axi4Signature(address_bits=40, data_bits=64, id_bits=4)
NARROW = Axi4Signature(address_bits=16, data_bits=64, id_bits=0)
LITE = AxiLiteSignature(address_bits=12)


def directions(role, **options):
    ports = bus_ports("x_", role, LITE, **options)
    return {port.name.removeprefix("x_"): (port.direction, port.bits) for port in ports}


def test_ports_of_a_master_and_of_a_slave():
    master, slave = directions("master"), directions("slave")
    assert master["awaddr"] == ("output", 12)
    assert slave["awaddr"] == ("input", 12)
    assert (master["rdata"], slave["rready"]) == (("input", 32), ("input", 1))
    assert set(master) == set(slave) == set(LITE.members)


def test_what_our_buses_lack_is_reported_to_slaves_only():
    extras = bus_ports("m_", "master", NARROW, extras=("lock", "qos"))[-4:]
    assert [(port.name, port.bits) for port in extras] == [
        ("m_awlock", 1),
        ("m_awqos", 4),
        ("m_arlock", 1),
        ("m_arqos", 4),
    ]
    assert all(port.unused for port in extras)
    wires = bus_wires("s_", NARROW.create(), extras=("cache",))
    assert wires["s_arcache"].value == 0b0011


def test_buses_side_by_side_share_a_port():
    buses = [LITE.create(), LITE.create()]
    assert len(bus_wires("m_", *buses)["m_araddr"]) == 24


@pytest.mark.parametrize("swap", [False, True])
def test_join_goes_in_both_directions_whatever_is_missing(swap):
    master = (NARROW if swap else WIDE).create(path=("master",))
    slave = (WIDE if swap else NARROW).create(path=("slave",))
    m = Module()
    connect_bus(m, master, slave)

    async def bench(ctx):
        ctx.set(master.awaddr, 0x1234)
        ctx.set(master.wdata, 77)
        ctx.set(master.arvalid, 1)
        ctx.set(master.bready, 1)
        ctx.set(slave.arready, 1)
        ctx.set(slave.rdata, 99)
        ctx.set(slave.rlast, 1)
        await ctx.delay(1e-9)
        assert ctx.get(slave.awaddr) == 0x1234
        assert (ctx.get(slave.wdata), ctx.get(slave.arvalid), ctx.get(slave.bready)) == (77, 1, 1)
        assert (ctx.get(master.arready), ctx.get(master.rdata), ctx.get(master.rlast)) == (1, 99, 1)
        assert (ctx.get(master.awready), ctx.get(slave.awvalid)) == (0, 0)

    simulator = Simulator(m)
    simulator.add_testbench(bench)
    simulator.run()
