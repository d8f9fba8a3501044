import pytest

from hdl.u280.hbm import Hbm, HbmParams
from hdl.u280.hbm_port import HbmPortParams
from tests.hdl.netlist_bench import Table
from tests.hdl.u280.lint import lint_with_stubs

READS = HbmPortParams()
ALL = HbmPortParams(address_bits=33, writes=True)


def test_domains():
    hbm = Hbm(HbmParams(ports=((1, READS), (20, ALL))))
    assert lint_with_stubs(hbm, hbm.vendor_ips).top.domains == ("sync", "hbm", "apb")


def test_wires(tmp_path):
    table = Table(Hbm(HbmParams(ports=((1, READS), (20, ALL)))), clock="pins.apb_clk")
    for number in (1, 20):
        path, axi = f"path_{number}", f"ip.AXI_{number:02}"
        table.bus(f"pins.port_{number}", f"{path}.axi")
        table.wire(**{path: {"base": number << 28, "clk": "pins.clk", "rst": "pins.rst"}})
        table.wire(**{path: {"hbm_clk": "pins.hbm_clk", "hbm_rst": "pins.hbm_rst"}})
        table.add(f"{axi}_ACLK", "pins.hbm_clk")
        table.add(f"{axi}_ARESET_N", "~pins.reset")
        table.bus(f"{path}.hbm", axi)
    for stack in range(2):
        degrees = f"degrees_{stack}"
        table.wire(
            ip={
                f"HBM_REF_CLK_{stack}": "pins.apb_clk",
                f"APB_{stack}_PCLK": "pins.apb_clk",
                f"APB_{stack}_PRESET_N": "~pins.apb_rst",
            },
            pins={f"temperature_{stack}": f"{degrees}.o"},
        )
        table.wire(
            **{degrees: {"i": f"ip.DRAM_{stack}_STAT_TEMP", "clk": "pins.clk", "rst": "pins.rst"}}
        )
    table.wire(
        pins={
            "complete": "ip.apb_complete_0 & ip.apb_complete_1",
            "hot": "ip.DRAM_0_STAT_CATTRIP | ip.DRAM_1_STAT_CATTRIP",
        }
    )
    table.check(tmp_path)


@pytest.mark.parametrize(
    ("numbers", "message"),
    [((3, 1), "in rising order"), ((0, 32), "from 0 to 31"), ((), "one or more different numbers")],
)
def test_rejects(numbers, message):
    with pytest.raises(ValueError, match=message):
        HbmParams(ports=tuple((number, READS) for number in numbers))
