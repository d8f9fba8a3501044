"""Measures how long emission takes beside Amaranth's own, each in a fresh process."""

import json
import pickle
import subprocess
import sys
from collections.abc import Callable

from amaranth.hdl import Fragment

from gen.base.emission.amaranth_internals import rtlil  # pyright: ignore[reportAttributeAccessIssue]
from gen.base.emission.branches import PASSES
from gen.base.emission.emit import emit, interface
from gen.base.emission.lean_rtlil import netlist_of, to_rtlil
from gen.base.emission.yosys import Yosys, apart
from hdl.p4sgd.engine.engine import Engine
from hdl.p4sgd.worker import Worker
from hdl.p4sgd.worker_params import WorkerParams
from sim.bench.limits import Limit, Row, cpu_seconds

LEAST_SPEED_UP = Limit(20, at_least=True)
MAX_BYTES = Limit(1_000_000)
MAX_MODULES = Limit(80)  #: each part is emitted once for each size; Amaranth alone repeats them


def own(worker: WorkerParams) -> str:
    """Emit the whole worker as Verilog."""
    return emit(Worker(worker)).verilog


def plain(worker: WorkerParams) -> str:
    """Emit one of the worker's engines by Amaranth alone, which elaborates every instance anew."""
    engine = Engine(worker.engine)
    return plain_verilog(rtlil.convert(engine, name="engine", ports=interface(engine)))


def lean(worker: WorkerParams) -> str:
    """Emit an engine likewise, without the initial values of memories that start out empty."""
    engine = Engine(worker.engine)
    ports = interface(engine)
    return plain_verilog(to_rtlil(netlist_of(Fragment.get(engine, None), ports, "engine")))


def plain_verilog(text: str) -> str:
    """Pass RTLIL through the passes that our emission uses, to Verilog."""
    return apart(translated_plainly, text)


def translated_plainly(text: str) -> str:
    """Return RTLIL as Verilog."""
    yosys = Yosys()
    yosys.read(text)
    yosys.run(*PASSES)
    return yosys.write()


WAYS: dict[str, Callable[[WorkerParams], str]] = {"ours": own, "plain": plain, "lean": lean}


def measure(path: str, worker: WorkerParams) -> dict[str, float]:
    """Return the seconds of CPU, bytes and modules of one way to emit, imports not counted.

    Each way runs in a fresh process.
    """
    output = subprocess.run(
        [sys.executable, "-m", "sim.p4sgd.bench.emission", path],
        input=pickle.dumps(worker),
        stdout=subprocess.PIPE,
        check=True,
    )
    return json.loads(output.stdout)


def rows(progress: Callable[[str], None], worker: WorkerParams) -> list[Row]:
    """Emit in all ways and compare them; ours is measured three times, around the others."""
    own, others = [], {}
    for path, about in (
        ("plain", "one engine by Amaranth alone (a minute or two)"),
        ("lean", "the same without initial values of memories"),
    ):
        progress("emitting the u280 worker")
        own.append(measure("ours", worker))
        progress(f"emitting {about}")
        others[path] = measure(path, worker)
    progress("emitting the u280 worker")
    own.append(measure("ours", worker))
    own.sort(key=lambda result: result["seconds"])
    return judge({"ours": own[1], **others}, worker.engines)


def judge(result: dict[str, dict[str, float]], engines: int) -> list[Row]:
    """Return the rows of what :func:`measure` found; an engine counts ``engines`` times."""
    own, reference, bare = result["ours"], result["plain"], result["lean"]
    times = f"{engines} times one engine by Amaranth alone"
    return [
        Row(what="u280 worker, ours", value=own["seconds"], unit="s", note="median of 3"),
        Row(what="u280 worker, ours", value=own["bytes"], unit="bytes", limit=MAX_BYTES),
        Row(what="u280 worker, ours", value=own["modules"], unit="modules", limit=MAX_MODULES),
        Row(
            what="one engine, Amaranth alone",
            value=reference["seconds"],
            unit="s",
            note=f"{reference['bytes']:,.0f} bytes, {reference['modules']:,.0f} modules",
        ),
        Row(
            what="ours is faster",
            value=engines * reference["seconds"] / own["seconds"],
            unit="times",
            limit=LEAST_SPEED_UP,
            note=f"than {times}",
        ),
        Row(
            what="the same without RAM contents",
            value=engines * bare["seconds"] / own["seconds"],
            unit="times",
            note=f"than {times} patched to leave out zeros: {bare['seconds']:.1f} s",
        ),
    ]


def main() -> None:
    """Emit the worker whose parameters come in, in the way that is named; print what it took."""
    worker = pickle.load(sys.stdin.buffer)
    start = cpu_seconds()
    text = WAYS[sys.argv[1]](worker)
    seconds = cpu_seconds() - start
    modules = text.count("\nendmodule")
    print(json.dumps({"seconds": seconds, "bytes": len(text.encode()), "modules": modules}))


if __name__ == "__main__":
    main()
