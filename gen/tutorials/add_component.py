"""Tutorial: write a component, its golden model and its test, and see the test fail.

The component is in ``largest.py`` beside this script: of each group of numbers of a stream it
passes on the largest. Read that file first; it is as long as a screen.
"""

# %% 1. Golden model
# Begin with what the hardware must do, as a function that knows no hardware. In a system of
# Ingather it comes from the paper; of two ways to compute something, take the one that the RTL
# will not take.

import json
import shutil
import sys
from pathlib import Path

import largest

assert largest.largest_of_groups([3, 1, 2, 7, 9, 8], group=3) == [3, 9]

# %% 2. Hardware
# A component is a class and one frozen dataclass of parameters, which refuses what cannot be built.
# Equal parameters are the same hardware: it becomes one Verilog module, wherever it is placed.

from gen.base.emission.emit import emit  # noqa: E402 - a cell has its own imports

component = largest.Largest(largest.LargestParams(bits=8, group=4))
verilog = emit(component).verilog
print(verilog[verilog.index("module ") :].partition(";")[0])

try:
    largest.LargestParams(bits=8, group=1)
except ValueError as error:
    print("refused:", error)

# %% 3. Test
# `simulate` turns the component into a simulator and runs the cocotb tests of a module on it: here
# of largest.py itself. Every test runs three times: nobody pauses, the source does, the sink does.
# Values are compared always, cycles where nobody pauses. What hardware a test runs on, it asks for
# (`params_in_simulator`), because one test serves all sizes.

from sim.harness.verilator import SimulationError, simulate  # noqa: E402

run = simulate(component, "largest")
print([f"{case.name}: {'passed' if case.passed else 'failed'}" for case in run.tests])
assert run.passed

# %% 4. See it fail
# A test that never failed has shown nothing. So break the hardware once: this copy does not take
# the first number of a group, but compares it with the largest of the group before.

source = Path(largest.__file__).read_text()
broken = source.replace("Mux(first | (self.i.payload > best)", "Mux((self.i.payload > best)")
assert broken != source
Path("largest_broken.py").write_text(broken)
sys.path.insert(0, str(Path.cwd()))

import largest_broken  # noqa: E402  # pyright: ignore[reportMissingImports] - written just now

try:
    params = largest_broken.LargestParams(bits=8, group=4)
    simulate(largest_broken.Largest(params), "largest_broken")
except SimulationError as error:
    failed = error.run
    print(str(error).partition("\n")[0])
else:
    raise AssertionError("the test does not notice")

# The harness finds the first wrong beat of a failed comparison: its stream, its place in it, the
# cycle, what was expected and what came. `pytest` and `ingather verify` print it; here it is read
# from the folder of the run.

first = json.loads((failed.folder / "wrong.json").read_text())[0]["first_wrong"]
print("first wrong beat:", first)
shutil.rmtree(failed.folder)

# %% 5. Into the checkout
# sim/README.md ("Add a component") says where the three parts go. There the test is a pytest
# function that calls `simulate` for each size, and these two look for what it does not notice:
#
#     .venv/bin/ingather verify hdl.SYSTEM.largest --seeds 3 -o build/verify
#     .venv/bin/ingather mutate hdl.SYSTEM.largest -o build/mutate
