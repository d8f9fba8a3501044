"""States what is proven of waiting: a bound on the cycles of a job's packets and commands."""

from amaranth.hdl import Cat, Module, Signal, Value
from amaranth.lib.wiring import In

from hdl.common.arithmetic import delay
from hdl.common.component import Component
from hdl.common.round_robin import RoundRobin, RoundRobinParams
from hdl.p4sgd.switch.tenant_params import TenantSwitchParams
from hdl.switch.job_table import JobTable
from hdl.switch.tenancy import SHARING, TENANT_COMMAND
from hdl.switch.tenant_control import State, TenantControl
from tests.formal.claims import assume, claim, reach


class WaitingProof(Component):
    """Has the ports' turns and the job table, wired as in the switch; whatever else is free.

    A port that asks goes on asking until its packet is taken, as a queue does. Packets of any job
    and commands of any job come at any time.
    """

    #: An input that is wired to what is inside instead.
    peeks = {"state": "jobs.control.state"}

    def __init__(self, params: TenantSwitchParams) -> None:
        self.longest = params.ports  #: a turn of each other port, and a slot that is cleared
        super().__init__(
            params,
            requesting=In(params.ports),
            offered=In(TENANT_COMMAND),
            offers=In(1),
            sharing=In(SHARING),
            packet=In(params.packet),
            progress=In(params.progress),
            state=In(State),
        )

    def build(self, m: Module) -> None:
        params = self.params
        m.submodules.turns = turns = RoundRobin(RoundRobinParams(count=params.ports))
        m.submodules.jobs = jobs = JobTable(params)
        taken = turns.requesting.any() & ~jobs.hold
        m.d.comb += [
            turns.requesting.eq(self.requesting),
            turns.take.eq(~jobs.hold),
            jobs.waiting.eq(turns.requesting.any()),
            jobs.commands.payload.eq(self.offered),
            jobs.commands.valid.eq(self.offers),
            jobs.sharing.eq(self.sharing),
            jobs.packet.eq(self.packet),
            jobs.progress.eq(self.progress),
        ]
        m.d.sync += [jobs.packet_valid.eq(taken), jobs.sender.eq(turns.grant)]
        for k in range(params.ports):
            waits = self.requesting[k] & ~(taken & turns.grant[k])
            with m.If(delay(m, waits, 1, f"waits_{k}", reset_less=False)):
                assume(m, self.requesting[k])
            waited = self.count(m, waits, self.longest, f"waited_{k}")
            claim(m, "a_port_waits_for_the_others_once", waited <= self.longest)
            reach(m, f"port_{k}_waits_as_long_as_it_may", waited == self.longest)
        most = TenantControl(params).latency
        others = [State.TAKE, State.CLEAR, State.END, State.ANSWER]
        deciding = ~Cat(self.state == state for state in others).any()
        claim(m, "decided_in_time", self.count(m, deciding, most, "deciding") < most)

    def count(self, m: Module, goes_on: Value, most: int, name: str) -> Signal:
        """Count the cycles for which something has gone on before this one, past ``most``."""
        cycles = Signal(range(most + 2), name=name)
        with m.If(~goes_on):
            m.d.sync += cycles.eq(0)
        with m.Elif(cycles <= most):
            m.d.sync += cycles.eq(cycles + 1)
        return cycles
