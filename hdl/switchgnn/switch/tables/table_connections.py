"""Connects tables, on chip or in memory, to the requests for rows and to their consumer."""

from typing import Any

from amaranth.hdl import Module
from amaranth.lib.wiring import In, Out, connect, flipped

from hdl.common.arithmetic import low_bits
from hdl.switchgnn.switch.params import GnnSwitchParams
from hdl.switchgnn.switch.sizes import DESCRIPTOR_BITS
from hdl.switchgnn.switch.tables.row_reader import RowReader
from hdl.switchgnn.switch.tables.table_memory import TableMemory
from hdl.switchgnn.switch.tables.table_writer import ROW_BITS, descriptor_of
from hdl.switchgnn.switch.tasks.task_sequencer import TaskSequencer

Tables = TableMemory | tuple[RowReader, RowReader]


def table_ports(params: GnnSwitchParams) -> dict:
    """List the ports that write tables on chip, or the ports of the memory of tables."""
    if params.in_memory:
        memory = params.table_memory
        return {
            "m_axi_tables": Out(memory.axi).array(memory.ports),
            "table_settings": In(memory.settings),
            "table_state": Out(memory.state),
        }
    return {
        "at": In(ROW_BITS),
        "write_list": In(1),
        "list_row": In(params.row),
        "write_descriptors": In(1),
        "descriptor_row": In(params.descriptor_row),
    }


def add_tables(m: Module, params: GnnSwitchParams) -> Tables:
    """Add the memory of both tables, or each table on chip: lists and descriptors."""
    if params.in_memory:
        m.submodules.tables = tables = TableMemory(params.table_memory)
        return tables
    m.submodules.lists = lists = RowReader(params.list_table)
    m.submodules.descriptors = descriptors = RowReader(params.descriptor_table)
    return lists, descriptors


def connect_tables(
    m: Module, tables: Tables, requests: Any, sequencer: TaskSequencer, outer: Any
) -> None:
    """Connect tables to ``requests`` and to the sequencer; ``outer`` has :func:`table_ports`."""
    if isinstance(tables, TableMemory):
        connect_memory(m, tables, requests, sequencer, outer)
    else:
        connect_chip(m, *tables, requests, sequencer, outer)


def connect_chip(
    m: Module,
    lists: RowReader,
    descriptors: RowReader,
    requests: Any,
    sequencer: TaskSequencer,
    outer: Any,
) -> None:
    """Connect tables on chip, which the host writes."""
    connect(m, requests, lists.requests)
    connect(m, sequencer.descriptor_requests, descriptors.requests)
    connect(m, lists.rows, sequencer.rows)
    connect(m, descriptors.rows, sequencer.descriptors)
    m.d.comb += [
        lists.write.eq(outer.write_list),
        lists.address.eq(low_bits(outer.at, len(lists.address))),
        lists.row.eq(outer.list_row),
        descriptors.write.eq(outer.write_descriptors),
        descriptors.address.eq(low_bits(outer.at, len(descriptors.address))),
        descriptors.row.eq(outer.descriptor_row),
    ]


def connect_memory(
    m: Module, tables: TableMemory, requests: Any, sequencer: TaskSequencer, outer: Any
) -> None:
    """Connect tables in memory, whose rows have the sequencer's format."""
    params = sequencer.params
    connect(m, requests, tables.requests)
    for axi, own in zip(tables.axi, outer.m_axi_tables, strict=True):
        connect(m, axi, flipped(own))
    result = tables.descriptors.payload
    row = params.descriptor_row(sequencer.descriptors.payload.row)
    for k in range(params.banks):
        word = result.row[DESCRIPTOR_BITS * k : DESCRIPTOR_BITS * (k + 1)]
        m.d.comb += descriptor_of(row[k], word)
    m.d.comb += sequencer.rows.payload.row.eq(tables.lists.payload.row[: params.row.size])
    for provided, taken in (
        (tables.lists, sequencer.rows),
        (tables.descriptors, sequencer.descriptors),
    ):
        m.d.comb += [
            taken.payload.missing.eq(provided.payload.missing),
            taken.payload.last.eq(provided.payload.last),
            taken.valid.eq(provided.valid),
            provided.ready.eq(taken.ready),
        ]
    m.d.comb += [
        tables.settings.eq(outer.table_settings),
        outer.table_state.eq(tables.state),
    ]
