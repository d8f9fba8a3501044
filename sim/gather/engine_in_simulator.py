"""Lets a program in another process use the simulated card that this simulation is of."""

from contextlib import suppress
from functools import partial
from multiprocessing.connection import Client, Connection
from typing import Any

import cocotb

from sim.gather.card_driver import CardDriver
from sim.gather.simulated_engine import LINE, MEMORY
from sim.gather.slots import Slot
from sim.gather.surroundings.cards_system import CardsParams
from sim.harness.in_simulator import params_in_simulator


@cocotb.test()
async def serve(dut: Any) -> None:
    """Carry out calls of the card's device until the program closes its line."""
    card = params_in_simulator(CardsParams).card
    driver = CardDriver(Slot(dut, 0), card, bytes(int(str(cocotb.plusargs[MEMORY]))))
    await driver.begin()
    with Client(str(cocotb.plusargs[LINE])) as line:
        await driver.registers.do(partial(carry_out, line))


def carry_out(line: Connection, engine: Any) -> None:
    """Answer each call with what the method returns, until there are no more, or nobody calls."""
    with suppress(EOFError):
        while (call := line.recv()) is not None:
            name, args = call
            line.send(getattr(engine.device, name)(*args))
