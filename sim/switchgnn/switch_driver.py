"""Drives SwitchGNN's switch as a host: tables, jobs, addresses, errors and counters."""

from collections.abc import Collection, Iterable, Iterator
from typing import Any

from hdl.switchgnn.switch.banks.aggregator_params import TableError
from hdl.switchgnn.switch.counters import TOTAL_COUNTERS, port_counters
from hdl.switchgnn.switch.params import GnnSwitchParams
from hdl.switchgnn.switch.registers import ERRORS, Table, gnn_switch_registers
from sim.harness.switch_driver import JobSwitchDriver
from sim.switchgnn.golden.job_setup import JobSetup
from sim.switchgnn.planning.tables import PORT_SHIFT, VALID
from sim.switchgnn.table_rams import TableRams

Words = list[int]


class GnnSwitchDriver(JobSwitchDriver):
    """Drives the registers of a simulated switch, and the memory of its tables if it has one."""

    verdict_count = "verdict_count"

    def __init__(self, dut: Any, params: GnnSwitchParams, bus: Any = "s_axil") -> None:
        super().__init__(dut, bus, gnn_switch_registers(params))
        self.params, self.verdict = params, params.verdict
        self.memory = TableRams(dut, params.table_memory) if params.in_memory else None

    @property
    def room(self) -> tuple[int, int]:
        """Return how many rows of lists and of descriptors the switch, or its memory, can hold."""
        params, memory = self.params, self.memory
        if memory is None:
            return params.rows, params.descriptor_rows
        sizes = memory.params
        return (
            min(params.rows, memory.rows(sizes.list_bits)),
            min(params.descriptor_rows, memory.rows(sizes.descriptor_bits)),
        )

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
        """Fill a job's tables and start it; raise CommandRefused if it is not started.

        Without ``load``, lists and descriptors are those that an earlier job has left there.

        Its aggregators begin at index ``base`` of every bank, its rows of lists and of descriptors
        at those rows of the switch's tables.
        """
        rows, steps = block_rows(setup, descriptor_base)
        if load and self.memory is None:
            await self.fill(Table.LISTS, list_base, list_words(setup))
            await self.fill(Table.DESCRIPTORS, descriptor_base, rows)
        elif load:
            await self.fill_memory(setup, list_base, descriptor_base)
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
        await self.check()

    async def fill_memory(self, setup: JobSetup, list_base: int, descriptor_base: int) -> None:
        """Write a job's lists and descriptors to memory, and say where: descriptors are half-way.

        Nothing that a port owes may be under way: ports that a reset has broken are used again.
        """
        memory = self.memory
        assert memory is not None
        sizes, half = memory.params, memory.lines // 2
        words, _ = block_rows(setup, descriptor_base)
        blocks = [words[k : k + setup.banks] for k in range(0, len(words), setup.banks)]
        whole = [sum(word << 32 * k for k, word in enumerate(block)) for block in blocks]
        await memory.write(0, list_base, list_rows(setup), sizes.list_bits)
        await memory.write(half, descriptor_base, whole, sizes.descriptor_bits)
        await self.write(list_line=0)
        await self.write(descriptor_line=half)
        await self.write(revive_tables=1)

    async def set_links(self, *, above: bool, far_port: int, timeout: int) -> None:
        """Say how the last ports lead to other switches; while no job is active.

        If ``above``, the last one leads to the switch above. Each of the others has this switch at
        its port ``far_port``. PARTIALs are repeated after ``timeout`` cycles.
        """
        await self.write(above=int(above), far_port=far_port)
        await self.write(link_timeout=timeout)

    async def stop_job(self, job: int) -> None:
        """Let the switch take no more frames of a job."""
        await self.write(job_number=job)
        await self.write(stop_job=1)

    async def port_counts(self, port: int, names: Collection[str] = ()) -> dict[str, int]:
        """Return the counters of a port, all of them or those of ``names``."""
        await self.write(counter_port=port)
        return await self.counted("port", port_counters(self.params), names=names)

    async def totals(self, names: Collection[str] = ()) -> dict[str, int]:
        """Return the counters of the switch as a whole, all of them or those of ``names``."""
        return await self.counted("total", TOTAL_COUNTERS, names=names)

    async def errors(self, job: int) -> tuple[dict[str, int], dict[str, Any] | None]:
        """Return how many table errors of each cause a job has, and the first of them."""
        await self.write(job_number=job)
        counts = {name: await self.read(f"error_{name}") for name in ERRORS}
        cause = TableError(await self.read("first_cause"))
        if cause is TableError.NONE:
            return counts, None
        first = {name: await self.read(f"first_{name}") for name in ("turn", "row", "aggregator")}
        return counts, {"cause": cause.name.lower(), **first}


def list_rows(setup: JobSetup) -> Iterator[int]:
    """Yield the rows of lists as numbers, with 16 bits for each bank, the first one lowest."""
    for row in setup.rows:
        entries = [0 if index is None else VALID | index for index in row]
        yield sum(entry << 16 * bank for bank, entry in enumerate(entries))


def list_words(setup: JobSetup) -> Words:
    """Return the rows of lists as words."""
    count = -(-16 * setup.banks // 32)
    return [word for row in list_rows(setup) for word in in_words(row, count)]


def in_words(number: int, count: int) -> Words:
    """Return a number as words, the lowest first."""
    return [number >> 32 * k & 0xFFFFFFFF for k in range(count)]


def block_rows(setup: JobSetup, base: int) -> tuple[Words, Words]:
    """Return the descriptors of all blocks, and the turn program's steps, as words."""
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
