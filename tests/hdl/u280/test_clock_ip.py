from hdl.u280.clock_ip import APB_MHZ, BOARD_CLOCKS, HBM_MHZ, REFCLK_BUFFER


def test_frequencies_are_those_that_are_told():
    config = dict(BOARD_CLOCKS.config)
    assert float(config["CLKOUT1_REQUESTED_OUT_FREQ"]) == HBM_MHZ
    assert float(config["CLKOUT2_REQUESTED_OUT_FREQ"]) == APB_MHZ


def test_a_cell_is_not_made():
    assert REFCLK_BUFFER.vlnv == ""
