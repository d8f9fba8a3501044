"""Runs the host software of SwitchGNN's switch, with the memory of its tables if it has one."""

from collections.abc import Iterator
from typing import Any

from hdl.switchgnn.switch.params import GnnSwitchParams
from hdl.switchgnn.switch.tables.table_memory_params import BEAT_BYTES
from sim.harness.host_program import HostProgram
from sim.switchgnn.golden.job_setup import JobSetup
from sim.switchgnn.host.gnn_switch import Tables
from sim.switchgnn.switch_side import switch_side
from sim.switchgnn.table_rams import TableRams


class TableDma:
    """Writes the memory behind each port of tables, as a card's DMA does."""

    def __init__(self, rams: TableRams) -> None:
        self.rams, self.room = rams, rams.lines * BEAT_BYTES

    async def write_memory(self, address: int, data: bytes) -> None:
        """Write bytes of a beat; the memory of the next port begins ``room`` bytes further."""
        port, at = divmod(address, self.room)
        line, first = divmod(at, BEAT_BYTES)
        word, strobes = int.from_bytes(data, "little"), (1 << len(data)) - 1
        beat = line * self.rams.params.ports + port
        await self.rams.write_beats(0, {beat: (word << 8 * first, strobes << first)})


class GnnSwitchProgram(HostProgram):
    """Starts jobs that golden setups describe; ``memory`` are the RAMs of tables, or None."""

    def __init__(self, dut: Any, params: GnnSwitchParams, bus: Any = "s_axil") -> None:
        self.params = params
        self.memory = TableRams(dut, params.table_memory) if params.in_memory else None
        dma = TableDma(self.memory) if self.memory else None
        super().__init__(dut, bus, switch_side(params, dma.room if dma else 0), dma)

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

    async def start_job(
        self,
        job: int,
        *,
        setup: JobSetup,
        epoch: int,
        base: int,
        load: bool = True,
        **bases: int,
    ) -> None:
        """Start a job as :meth:`GnnSwitch.start_job` does; ``bases`` are fields of its tables."""
        tables = Tables(
            lists=setup.rows,
            blocks=[{a: (item.expected, item.port) for a, item in b.items()} for b in setup.blocks],
            program=setup.program,
            **bases,
        )
        await self.run(
            "start_job",
            job,
            ports=[*bits_of(setup.ports)],
            epoch=epoch,
            base=base,
            depth=setup.open_turns * setup.depth,
            tables=tables,
            two=setup.open_turns == 2,
            maximum=setup.maximum,
            load=load,
        )


def bits_of(bitmap: int) -> Iterator[int]:
    """Yield the numbers of the bits that are set."""
    return (bit for bit in range(bitmap.bit_length()) if bitmap >> bit & 1)


def rows_of_descriptors(setup: JobSetup) -> int:
    """Return the number of rows of descriptors that a job has."""
    return sum(1 + max(block, default=-1) // setup.banks for block in setup.blocks)
