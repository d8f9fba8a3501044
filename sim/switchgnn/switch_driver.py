"""A host's driver of SwitchGNN's switch: tables, jobs, addresses, errors and counters."""

from collections.abc import Iterable
from typing import Any

from cocotb.triggers import ClockCycles

from hdl.switch.params import Refusal
from hdl.switchgnn.switch.counters import PORT_COUNTERS, TOTAL_COUNTERS
from hdl.switchgnn.switch.params import GnnSwitchParams, TableError, Verdict
from hdl.switchgnn.switch.registers import ERRORS, Table, gnn_switch_registers
from sim.harness.register_driver import RegisterDriver
from sim.switchgnn.golden.job_setup import JobSetup
from sim.switchgnn.planning.tables import PORT_SHIFT, VALID

POLL_CYCLES = 32  #: between two looks at what takes longer
Words = list[int]


class CommandRefused(RuntimeError):
    """A command had no effect; ``reason`` says why."""

    def __init__(self, reason: Refusal) -> None:
        super().__init__(f"the switch refused the command: {reason.name}")
        self.reason = reason


class GnnSwitchDriver(RegisterDriver):
    """Drives the register bus of a simulated switch."""

    def __init__(self, dut: Any, params: GnnSwitchParams, bus: Any = "s_axil") -> None:
        super().__init__(dut, bus, gnn_switch_registers(params))
        self.params = params

    async def set_addresses(self, switch: bytes, group: bytes) -> None:
        """The switch's own address and the one that frames are sent to, six bytes each."""
        for name, address in (("switch", switch), ("group", group)):
            number = int.from_bytes(address, "little")
            await self.write(
                **{
                    f"{name}_address_low": number & 0xFFFFFFFF,
                    f"{name}_address_high": number >> 32,
                }
            )

    async def settled(self) -> None:
        """Wait until aggregators are cleared, no job is being started and verdicts are counted."""
        while any([await self.read(name) for name in ("busy", "clearing_counters")]):
            await ClockCycles(self.dut.clk, POLL_CYCLES)

    async def fill(self, table: Table, row: int, words: Iterable[int]) -> None:
        """Write rows of a table, from ``row`` on, as words."""
        await self.write(table=int(table), table_row=row)
        await self.write(begin_table=1)
        for word in words:
            await self.write(table_word=word)
            await self.write(write_word=1)

    async def start_job(
        self,
        job: int,
        *,
        setup: JobSetup,
        epoch: int,
        base: int,
        list_base: int = 0,
        descriptor_base: int = 0,
        load: bool = True,
    ) -> None:
        """Fill a job's tables and start it; :class:`CommandRefused` if it is not started.

        Without ``load``, lists and descriptors are those that an earlier job has left there.

        Its aggregators begin at index ``base`` of every bank, its rows of lists and of descriptors
        at those rows of the switch's tables.
        """
        rows, steps = block_rows(setup, descriptor_base)
        if load:
            await self.fill(Table.LISTS, list_base, list_words(setup))
            await self.fill(Table.DESCRIPTORS, descriptor_base, rows)
        await self.write(job_number=job, job_epoch=epoch)
        await self.fill(Table.PROGRAM, 0, steps)
        await self.write(job_ports=setup.ports)
        await self.write(job_base=base)
        await self.write(job_depth=setup.open_turns * setup.depth)
        await self.write(job_two=int(setup.open_turns == 2), job_last_step=len(setup.program) - 1)
        await self.write(job_list_base=list_base)
        await self.write(job_list_rows=len(setup.rows))
        await self.write(start_job=1)
        await self.settled()
        if await self.read("refused"):
            raise CommandRefused(Refusal(await self.read("reason")))

    async def stop_job(self, job: int) -> None:
        """Let the switch take no more frames of a job."""
        await self.write(job_number=job)
        await self.write(stop_job=1)

    async def verdicts(self) -> dict[int, dict[str, int]]:
        """How often each port met each verdict."""
        found = {}
        for port in range(self.params.ports):
            found[port] = {}
            for verdict in Verdict:
                if verdict is not Verdict.NONE:
                    await self.write(counter_port=port, counter_verdict=verdict.value)
                    found[port][verdict.name] = await self.read("verdict_count")
        return found

    async def port_counts(self, port: int) -> dict[str, int]:
        """The counters of a port."""
        found = {}
        for k, (name, _) in enumerate(PORT_COUNTERS.counters):
            await self.write(counter_port=port, port_counter=k)
            found[name] = await self.read("port_count")
        return found

    async def totals(self) -> dict[str, int]:
        """The counters of the switch as a whole."""
        found = {}
        for k, (name, _) in enumerate(TOTAL_COUNTERS.counters):
            await self.write(total_counter=k)
            found[name] = await self.read("total_count")
        return found

    async def errors(self, job: int) -> tuple[dict[str, int], dict[str, Any] | None]:
        """How many table errors of each cause a job has, and the first of them."""
        await self.write(job_number=job)
        counts = {name: await self.read(f"error_{name}") for name in ERRORS}
        cause = TableError(await self.read("first_cause"))
        if cause is TableError.NONE:
            return counts, None
        first = {name: await self.read(f"first_{name}") for name in ("turn", "row", "aggregator")}
        return counts, {"cause": cause.name.lower(), **first}


def list_words(setup: JobSetup) -> Words:
    """The rows of lists as words: an entry of 16 bits for each bank."""
    words = []
    for row in setup.rows:
        entries = [0 if index is None else VALID | index for index in row]
        whole = sum(entry << 16 * bank for bank, entry in enumerate(entries))
        words += in_words(whole, -(-16 * setup.banks // 32))
    return words


def in_words(number: int, count: int) -> Words:
    """A number as words, the lowest first."""
    return [number >> 32 * k & 0xFFFFFFFF for k in range(count)]


def block_rows(setup: JobSetup, base: int) -> tuple[Words, Words]:
    """The descriptors of all blocks, and the turn program's steps, as words."""
    words: Words = []
    places: list[tuple[int, int]] = []
    for block in setup.blocks:
        height = 1 + max(block, default=-1) // setup.banks
        places.append((base + len(words) // setup.banks, height))
        for aggregator in range(height * setup.banks):
            one = block.get(aggregator)
            words.append(one.expected | one.port << PORT_SHIFT if one else 0)
    steps: Words = []
    for step in setup.program:
        steps += [*places[step.block], step.turns]
    return words, steps
