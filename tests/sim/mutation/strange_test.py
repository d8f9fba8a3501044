"""Hangs or dies, depending on the number of the mutant."""

import os

import cocotb


@cocotb.test()
async def does(dut):
    if os.environ["INGATHER_MUTANT"] == "2":
        os.abort()
    while os.environ["INGATHER_MUTANT"] == "1":
        pass
