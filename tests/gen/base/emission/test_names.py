"""Tests names in emitted Verilog: neither other edits nor other emissions or hashes change them."""

import re
import subprocess
import sys
from dataclasses import dataclass

from amaranth.hdl import Signal
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from gen.base.emission.branches import stable
from gen.base.emission.emit import emit
from gen.base.emission.names import add_name
from hdl.common.component import Component
from hdl.common.round_robin import RoundRobin, RoundRobinParams
from tests.gen.sample import Leaf, LeafParams


@dataclass(frozen=True, kw_only=True)
class StoreParams:
    more: bool = False  #: has signals and a register that nothing else needs

    @property
    def suffix(self):
        return "more" if self.more else "less"


class Store(Component):
    """Has everything that gets a name: parts, parts of registers, a memory, names used twice."""

    def __init__(self, params):
        super().__init__(params, address=In(4), state=In(8), y=Out(8), z=Out(8))

    def build(self, m):
        if self.params.more:
            spare, control = Signal(8, name="spare"), Signal(8, name="control")
            m.d.comb += [spare.eq(self.state ^ 1), control.eq(spare)]
            m.d.sync += Signal(8, name="aside").eq(control)
            late = Signal(8, name="total")
        m.submodules.control = control = Leaf(LeafParams(bits=8))
        m.submodules.words = words = Memory(shape=8, depth=16, init=[])
        read, write = words.read_port(), words.write_port()
        first, second = Signal(8, name="total"), Signal(8, name="total")
        state = Signal(8)
        halves = Signal(8)
        if self.params.more:
            m.d.comb += late.eq(second ^ first)
        m.d.comb += [read.en.eq(1), read.addr.eq(self.address), control.a.eq(read.data)]
        m.d.comb += [write.en.eq(first[0]), write.data.eq(second), write.addr.eq(state[:4])]
        m.d.sync += [first.eq(second), second.eq(control.b), state.eq(self.state), self.z.eq(first)]
        m.d.sync += halves[4:].eq(self.state[4:])
        m.d.comb += [halves[:4].eq(self.address), self.y.eq(~halves)]


def registers(verilog):
    """Return what is written at a clock edge."""
    return set(re.findall(r"^ +\\?([^\s\[]+)[^;\n]* <= ", verilog, re.M))


def test_an_unrelated_signal_renames_no_register_and_no_part():
    less, more = (emit(Store(StoreParams(more=more))).top.verilog for more in (False, True))
    names = {"total", "total$1", "state$1", "halves$7_4", "words$read", "z"}
    assert registers(less) >= names
    assert registers(more) == registers(less) | {"aside"}
    for text in (less, more):
        assert re.search(r"^  leaf_8 control \($", text, re.M)
        blocks = re.findall(r"^ +\\?(\S+) *<= ([^;]*);", text, re.M)
        assert ("words$read", "words[address]") in blocks


def test_an_edit_of_one_module_leaves_the_text_of_others():
    less, more = (emit(Store(StoreParams(more=more))) for more in (False, True))
    assert less.modules["leaf_8"].verilog == more.modules["leaf_8"].verilog


SCRIPT = """
import sys
from tests.gen.base.emission.test_names import digests
print(*digests(sys.argv[1:]))
"""


def digests(order):
    """Return those of components emitted in that order, repeatedly: Yosys' numbers grow longer."""
    parts = {"turns": RoundRobin(RoundRobinParams(count=9)), "store": Store(StoreParams())}
    return sorted({emit(parts[name]).digest for _ in range(6) for name in order})


def test_the_same_bytes_in_any_process_and_order():
    own = digests(["turns", "store"])
    assert len(own) == 2
    for seed, order in (("1", ["turns", "store"]), ("2", ["store", "turns"])):
        reported = subprocess.run(
            [sys.executable, "-c", SCRIPT, *order],
            env={"PYTHONPATH": ":".join(sys.path), "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        )
        assert reported.stdout.split() == own, order


def test_the_second_of_a_name_is_numbered_from_one():
    taken = {"a"}
    assert [add_name(taken, "a"), add_name(taken, "b"), add_name(taken, "a")] == ["a$1", "b", "a$2"]


def test_invented_names_and_aliases_are_of_the_module_alone():
    verilog = (
        "module m(a);\n  reg \\$auto$x.cc:7:f$41 = 0;\n  if (\\$auto$x.cc:7:f$41 ) begin end\n"
        "  assign c = b;\n  _0_ <= w[a];\n  assign d = _0_;\n  assign b = a;\nendmodule\n"
    )
    assert stable(verilog) == (
        "module m(a);\n  reg \\$auto$1 = 0;\n  if (\\$auto$1 ) begin end\n"
        "  assign c = b;\n  _0_ <= w[a];\n  assign b = a;\n  assign d = _0_;\nendmodule\n"
    ).replace("_0_", "\\w$read ")
