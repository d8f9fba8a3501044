"""Describes the tasks of frames and turns, and their lists."""

from amaranth.lib import data, enum

from hdl.common.checks import check_range
from hdl.common.fifo import DISTRIBUTED_WORDS, FifoParams
from hdl.switchgnn.switch.jobs.job_params import JobParams
from hdl.switchgnn.switch.sizes import TURN_BITS
from hdl.switchgnn.switch.tables.row_reader import RowReaderParams
from hdl.switchgnn.switch.tables.table_memory_params import MAX_BANKS, TableMemoryParams


class TaskKind(enum.Enum, shape=3):
    """Names the kinds of tasks, for a frame or for a turn that opens."""

    DROP = 0  #: the payload, if there is one, is dropped
    ROWS = 1  #: FEATURE: the payload is added to the aggregators of its rows, and copied
    ONE = 2  #: PARTIAL: the payload is added to one aggregator
    FETCH = 3  #: the sum of one aggregator leaves again
    LOAD = 4  #: a turn's aggregators get their descriptors
    FENCE = 5  #: no operation: it tells that all earlier tasks were carried out


class TaskParams(JobParams):
    """Adds the bundles of tasks and lists to those of jobs and aggregators."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.in_memory:
            return
        check_range("banks", self.banks, 1, MAX_BANKS, " where tables are in memory")
        memory = self.table_memory
        most = memory.ports << memory.address_bits
        for name, bits in (
            ("rows", memory.list_bits),
            ("descriptor_rows", memory.descriptor_bits),
        ):
            size = getattr(self, name) * bits // 8
            if size > most:
                raise ValueError(
                    f"{name} need {size:,} bytes, but table_ports with table_address_bits address"
                    f" only {most:,}"
                )

    @property
    def task(self) -> data.StructLayout:
        """Describe a task; tasks are in the order in which frames were judged."""
        return data.StructLayout(
            {
                "kind": TaskKind,
                "brings": 1,  # a payload waits
                "job": self.job_bits,
                "turn": TURN_BITS,
                "region": self.region,
                "list": 32,  # ROWS: first row of the job's lists; ONE, FETCH: aggregator
                "rows": 16,  # ROWS, LOAD: number of rows
                "first": self.table_bits,  # place of the first row in the table
                "present": 16,  # number of these rows that exist in the table
                "source": 32,
                "raw": self.ports,  # ports that get a copy
            }
        )

    @property
    def task_fifo(self) -> FifoParams:
        """Return the sizes of the queue of tasks."""
        block = self.tasks > DISTRIBUTED_WORDS
        return FifoParams(shape=self.task, depth=self.tasks, output_register=block, refuses=False)

    @property
    def list_table(self) -> RowReaderParams:
        """Return the sizes of the table of lists."""
        return RowReaderParams(bits=self.row.size, rows=self.rows)

    @property
    def descriptor_row(self) -> data.ArrayLayout:
        """Describe a row of descriptors: one for each bank."""
        return data.ArrayLayout(self.descriptor, self.banks)

    @property
    def descriptor_table(self) -> RowReaderParams:
        """Return the sizes of the table of descriptors."""
        return RowReaderParams(bits=self.descriptor_row.size, rows=self.descriptor_rows)

    @property
    def table_memory(self) -> TableMemoryParams:
        """Return the sizes of the memory of tables."""
        return TableMemoryParams(
            banks=self.banks,
            place_bits=self.table_bits,
            ports=self.table_ports,
            address_bits=self.table_address_bits,
        )

    @property
    def rows_request(self) -> data.StructLayout:
        """Describe the request of a task for rows: of lists, or in memory of either table."""
        return self.table_memory.request if self.in_memory else self.list_table.request

    @property
    def table_bits(self) -> int:
        """Return the width of a row's place in either table."""
        tables = (self.list_table, self.descriptor_table)
        return max(table.memory.address_bits for table in tables)

    @property
    def issued(self) -> data.StructLayout:
        """Describe the origin of a row whose additions begin."""
        return data.StructLayout(
            {
                "job": self.job_bits,
                "turn": TURN_BITS,
                "row": 32,  # number of the row in the lists of the job
                "number": 32,  # number of the aggregator of a PARTIAL
                "indices": self.indices,
            }
        )

    @property
    def copy(self) -> data.StructLayout:
        """Describe a feature that leaves as RAW."""
        return data.StructLayout(
            {
                "ports": self.ports,
                "job": self.job_bits,
                "turn": TURN_BITS,
                "source": 32,
                "features": self.features,
            }
        )
