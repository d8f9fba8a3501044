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
