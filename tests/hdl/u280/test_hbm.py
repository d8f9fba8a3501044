import pytest

from hdl.u280.hbm import Hbm, HbmParams
from hdl.u280.hbm_port import HbmPortParams
from tests.hdl.u280.lint import lint_with_stubs

READS = HbmPortParams()
ALL = HbmPortParams(address_bits=33, writes=True)


def test_buses_reach_their_ports():
    hbm = Hbm(HbmParams(ports=((1, READS), (20, ALL))))
    emission = lint_with_stubs(hbm, hbm.vendor_ips)
    text = emission.top.verilog
    assert emission.top.domains == ("sync", "hbm", "apb")
    assert f".base(33'h{1 << 28:09x})" in text
    assert f".base(33'h{20 << 28:09x})" in text
    assert ".AXI_20_WVALID(1'h0)" not in text


@pytest.mark.parametrize(
    ("numbers", "message"),
    [((3, 1), "once each, in order"), ((0, 32), "from 0 to 31"), ((), "once each, in order")],
)
def test_rejects(numbers, message):
    with pytest.raises(ValueError, match=message):
        HbmParams(ports=tuple((number, READS) for number in numbers))
