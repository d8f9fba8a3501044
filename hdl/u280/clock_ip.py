"""Describes the IP of the clocks that the board makes of its own 100 MHz."""

from hdl.u280.vendor import VendorIp, VendorPort

HBM_MHZ = 450.0
APB_MHZ = 100.0  #: frequency of HBM's reference and set-up, and of what brings the transceivers up

BOARD_CLOCKS = VendorIp(
    name="board_clocks",
    vlnv="xilinx.com:ip:clk_wiz:6.0",
    config=(
        ("PRIM_SOURCE", "Differential_clock_capable_pin"),
        ("PRIM_IN_FREQ", "100.000"),
        ("NUM_OUT_CLKS", "2"),
        ("CLKOUT1_DRIVES", "Buffer"),
        ("CLKOUT2_DRIVES", "Buffer"),
        ("CLKOUT1_REQUESTED_OUT_FREQ", "450.000"),
        ("CLKOUT2_USED", "true"),
        ("CLKOUT2_REQUESTED_OUT_FREQ", "100.000"),
        ("USE_LOCKED", "true"),
        ("USE_RESET", "false"),
    ),
    ports=(
        VendorPort(name="clk_in1_p", direction="input"),
        VendorPort(name="clk_in1_n", direction="input"),
        VendorPort(name="clk_out1", direction="output"),
        VendorPort(name="clk_out2", direction="output"),
        VendorPort(name="locked", direction="output"),
    ),
)

#: frequencies of a PLL's VCO: multiples of its input's, as its phase detector needs 70 MHz and so
#: leaves no input divider, from 750 to 1500 MHz (UG572, "PLLs"; DS923, "PLL Switching")
VCO_MHZ = range(800, 1600, 100)
DIVIDERS = 128  #: the most that divides the VCO's frequency


def core_clock(mhz: float) -> VendorIp:
    """Make the core's clock of ``apb``; raise ValueError if no whole divider gives ``mhz``.

    It is a PLL beside the MMCM of BOARD_CLOCKS, whose buffer reaches it without leaving the clock
    region, so that it needs no constraint of its route. It is reset until its input is right.
    """
    if not any(mhz > 0 and vco % mhz == 0 and vco <= DIVIDERS * mhz for vco in VCO_MHZ):
        raise ValueError(
            f"core_mhz must be {', '.join(map(str, VCO_MHZ[:-1]))} or {VCO_MHZ[-1]}, divided by a"
            f" whole number up to {DIVIDERS}: {mhz:g}"
        )
    return VendorIp(
        name="core_clock",
        vlnv="xilinx.com:ip:clk_wiz:6.0",
        config=(
            ("PRIMITIVE", "PLL"),
            ("PRIM_SOURCE", "Global_buffer"),
            ("PRIM_IN_FREQ", f"{APB_MHZ:.3f}"),
            ("CLKOUT1_DRIVES", "Buffer"),
            ("CLKOUT1_REQUESTED_OUT_FREQ", f"{mhz:.3f}"),
            ("USE_LOCKED", "true"),
            ("USE_RESET", "true"),
        ),
        ports=(
            VendorPort(name="clk_in1", direction="input"),
            VendorPort(name="reset", direction="input"),
            VendorPort(name="clk_out1", direction="output"),
            VendorPort(name="locked", direction="output"),
        ),
    )


#: describes a cell of the FPGA's own library, which is there without being made
REFCLK_BUFFER = VendorIp(
    name="IBUFDS_GTE4",
    vlnv="",
    ports=(
        VendorPort(name="I", direction="input"),
        VendorPort(name="IB", direction="input"),
        VendorPort(name="CEB", direction="input"),
        VendorPort(name="O", direction="output"),
        VendorPort(name="ODIV2", direction="output"),
    ),
)
