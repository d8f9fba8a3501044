"""Keeps for each slot whether the switch has answered ``pending`` since the last repetition."""

from amaranth.hdl import Module, Signal, Value
from amaranth.lib.memory import Memory


def add_pending_flags(
    m: Module, *, slots: int, comes: Value, comes_for: Value, demands: Value, requests_for: Value
) -> Value:
    """Return whether an answer came for slot ``requests_for`` since its last query.

    ``comes`` says that there is an answer for slot ``comes_for``, and ``demands`` that slot
    ``requests_for`` is queried; both may be high in the same cycle. The flag of a slot is two bits,
    each with one writer, and is set while they differ: an answer makes ``said`` differ from
    ``known``, and a query makes ``known`` equal to ``said`` again. A flag left over from an earlier
    use does no harm: it only counts as an answer to a packet that has not been repeated yet.
    """
    m.submodules.said = said = one_bit_each(slots)
    m.submodules.known = known = one_bit_each(slots)
    write_said, write_known = said.write_port(), known.write_port()
    said_of_requested = read(m, said, requests_for)
    known_of_requested = read(m, known, requests_for)
    m.d.comb += [
        write_said.en.eq(comes),
        write_said.addr.eq(comes_for),
        write_said.data.eq(~read(m, known, comes_for)),
        write_known.en.eq(demands),
        write_known.addr.eq(requests_for),
        write_known.data.eq(said_of_requested),
    ]
    return said_of_requested ^ known_of_requested


def one_bit_each(slots: int) -> Memory:
    """Make a memory with one bit for each slot."""
    return Memory(shape=1, depth=slots, init=[], attrs={"ram_style": "distributed"})


def read(m: Module, memory: Memory, slot: Value) -> Signal:
    """Read the bit of a slot in the same cycle."""
    port = memory.read_port(domain="comb")
    m.d.comb += port.addr.eq(slot)
    return port.data
