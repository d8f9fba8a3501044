"""Answers requests as a system does whose second worker gathers 64 bytes behind the right place."""

from dataclasses import replace

import cocotb

from sim.network_switch.step.step_host import StepHost
from sim.switchgnn.network.in_simulator import served


class ShiftedHost(StepHost):
    """Shifts the destination of the rows, not what is compared."""

    async def ends(self, job):
        ring = self.workers[1].ring
        submit = ring.submit
        ring.submit = lambda *requests: submit(
            *(replace(each, destination=each.destination + 64) for each in requests)
        )
        await super().ends(job)


@cocotb.test()
async def step(dut):
    await served(dut, ShiftedHost)
    dut.ends.value = 1
