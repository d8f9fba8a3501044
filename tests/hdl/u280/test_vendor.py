from amaranth.hdl import Signal

from hdl.u280.vendor import VendorIp, VendorPort
from tests.rejects import rejects

IP = VendorIp(
    name="thing",
    vlnv="xilinx.com:ip:thing:1.0",
    ports=(
        VendorPort(name="a", direction="input", bits=4),
        VendorPort(name="b", direction="output"),
        VendorPort(name="c", direction="output", bits=7, unused=True),
    ),
)


def test_places_all_that_is_used():
    instance = IP.place(a=Signal(4), b=Signal())
    assert instance.type == "thing"
    assert set(instance.ports) == {"a", "b"}


test_refuses = rejects(
    IP.place,
    ({"a": Signal(4)}, "thing: port b is not connected"),
    ({"a": Signal(3), "b": Signal()}, "thing: port a has 4 bits, its wire 3"),
    ({"a": Signal(4), "b": Signal(), "d": Signal()}, "thing has no port d"),
)


def test_stub_has_the_ports_in_use():
    assert "module thing (\n  input wire [3:0] a,\n  output wire [0:0] b\n);" in IP.stub
