import cocotb


@cocotb.test()
async def never(dut):
    assert dut is None
