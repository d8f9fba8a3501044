"""Proves by Yosys that the Verilog of a module is the hardware of Amaranth's RTLIL.

Registers, outputs, and the inputs of what is placed are compared by their names, each as a function
of the registers' and inputs' values: what is equal after every step is equal for ever. Of a large
memory only the first words are kept, on both sides: its ports still have whole addresses, and no
word is treated like no other. One with contents is cut out, and compared by what comes to its
ports.
"""

import re
from collections import Counter
from collections.abc import Mapping
from resource import RLIMIT_CPU, setrlimit

from gen.base.emission.emit import EmittedModule
from gen.base.emission.yosys import Yosys, YosysError, apart

MAX_MEMORY_BITS = 4096  #: of all memories of a module that become registers in a proof
WORDS = 2  #: that are left of a larger one
MAX_SECONDS = 300  #: of CPU for a module
#: components that Yosys does not finish: simulations alone compare these
UNFINISHED = {"LossLane", "BeatRing", "NetSparseSwitch"}
PREPARE = ("proc", "opt_clean", "opt_expr -mux_undef", "wreduce", "opt_expr -full", "opt_clean")
PROVE = (
    "opt_clean gold gate",
    "equiv_make gold gate equiv",
    "hierarchy -top equiv",
    "opt_clean",
    "equiv_struct",
    "equiv_simple -seq 2",
    "equiv_induct -seq 3",
    "equiv_status -assert",
)
MEMORY = re.compile(r"^ *memory width (\d+) size (\d+)", re.M)
WORDS_IN_VERILOG = re.compile(r"^( *(?:\(\*.*\*\) )?reg (?:\[\S+\] )?\S+) \[0:\d+\];$", re.M)
READ = re.compile(
    r"^  cell \$memrd_v2 .*?MEMID \"\\\\(\S+)\".*?CLK_ENABLE (\d).*?connect \\DATA (\S+).*?^  end",
    re.M | re.S,
)
#: a register that Python gave no name; the Verilog has none that begins with a dollar sign
NAMELESS = "\\$signal"


def difference(module: EmittedModule, modules: Mapping[str, EmittedModule]) -> str:
    """Return why ``module`` of a design is not proven to be its RTLIL; empty if it is."""
    if module.kind.__name__ in UNFINISHED:
        return ""
    try:
        apart(prove, module, modules)
    except YosysError as error:
        return f"{module.name}: {error}"
    return ""


def prove(module: EmittedModule, modules: Mapping[str, EmittedModule]) -> None:
    """Prove that a module is its RTLIL; Yosys ends this process if it is not."""
    setrlimit(RLIMIT_CPU, (MAX_SECONDS, MAX_SECONDS))
    yosys = Yosys()
    for name in module.instances:
        yosys.read(modules[name].rtlil)
    rtlil, verilog = module.rtlil.replace(NAMELESS, "\\signal"), with_read_names(module)
    large = sum(int(w) * int(d) for w, d in MEMORY.findall(rtlil)) > MAX_MEMORY_BITS
    filled = "cell $meminit" in rtlil
    if large and not filled:
        rtlil = MEMORY.sub(rf"  memory width \1 size {WORDS}", rtlil)
        verilog = WORDS_IN_VERILOG.sub(rf"\1 [0:{WORDS - 1}];", verilog)
    yosys.read(rtlil)
    yosys.run(f"rename {module.name} gold")
    yosys.read(verilog, "read_verilog")
    yosys.run(f"rename {module.name} gate", *PREPARE)
    cut = "c:*"
    if large and filled:
        yosys.run("memory_nordff", "memory_collect")
        cut = "c:* t:$mem_v2"
    else:
        yosys.run("memory -nomap", "memory_map")
    yosys.run("opt_clean")
    for side in ("gold", "gate"):
        yosys.run(f"cd {side}", f"expose -evert {cut}", "cd ..")
    yosys.run(*PROVE)


def with_read_names(module: EmittedModule) -> str:
    """Return the Verilog in which what a memory gives at a clock edge is called as in the RTLIL."""
    text, count = module.verilog, Counter()
    for memory, clocked, name in READ.findall(module.rtlil):
        if clocked == "1":
            count[memory] += 1
            own = f"{memory}$read" + (f"_{count[memory]}" if count[memory] > 1 else "")
            text = re.sub(
                rf"(?<![\w$]){re.escape(own)}(?![\w$])", lambda _, new=name: f"{new} ", text
            )
    return text
