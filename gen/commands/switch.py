"""Implements ``ingather switch``, a switch to try on a laptop."""

from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated, Any

import typer

from gen.base.errors import UserError
from gen.output.consoles import Console
from gen.output.folder import check_file

JOB, EPOCH = 0, 1  #: number and epoch of the only job
AT_ONCE = 3600.0  #: seconds of a turn of a switch that runs until it is interrupted


def switch(
    ports: Annotated[
        int, typer.Option(min=2, max=32, help="Build this many ports, with a worker at each.")
    ] = 2,
    slots: Annotated[
        int, typer.Option(min=1, max=65535, help="Give the job this many slots, from 0 on.")
    ] = 256,
    first_port: Annotated[
        int,
        typer.Option(
            min=0, max=65503, help="Use UDP ports from this one on; with 0, any that are free."
        ),
    ] = 47000,
    host: Annotated[str, typer.Option(help="Use this address of the machine.")] = "127.0.0.1",
    drop: Annotated[
        float, typer.Option(min=0, max=0.9, help="Drop this share of frames in each direction.")
    ] = 0.0,
    duplicate: Annotated[
        float, typer.Option(min=0, max=0.9, help="Let this share of frames come twice.")
    ] = 0.0,
    seed: Annotated[int, typer.Option(min=0, help="Draw these frames with this seed.")] = 1,
    shadow: Annotated[
        bool, typer.Option(help="Keep two copies of each sum, by SwitchML's rule.")
    ] = False,
    wide: Annotated[
        bool,
        typer.Option(
            help="Take frames of many numbers, and return their sums, maxima or bits in any."
        ),
    ] = False,
    numbers: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Take --wide frames of up to this many numbers: 256, 512, 1024 or 2048.",
            show_default="256",
        ),
    ] = None,
    golden: Annotated[
        bool, typer.Option("--golden", help="Run the golden model, the only kind there is.")
    ] = True,
    pcap: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Write the frames at all ports as a capture (pcapng) as they come."
        ),
    ] = None,
    seconds: Annotated[
        float | None,
        typer.Option(min=0.1, max=86400, help="End after this long; else at an interrupt."),
    ] = None,
) -> None:
    """Answer as a switch that adds up does, over UDP on this machine, by the golden model.

    Each port of the switch is a UDP socket, and a datagram is a frame, as on the wire but without
    checksum: of 60 bytes, or with --wide of up to 1,056 (8,224 with --numbers 2048). Answers go to
    whoever sent the last datagram to a port. There is one job, number 0 of epoch 1, with a worker
    at each port. Other frames are counted and dropped.
    """
    if pcap is not None:
        check_file(pcap)
    if wide and shadow:
        raise UserError("--wide and --shadow exclude each other: each is a rule of its own")
    if numbers is not None and not wide:
        raise UserError("--numbers needs --wide: other frames hold 8 numbers")
    model = model_of(ports, slots, wide=wide, numbers=numbers, shadow=shadow)
    served = opened(model, host, first_port, drop=drop, duplicate=duplicate, seed=seed)
    console = Console()
    for port, place in enumerate(served.places):
        console.print(f"port {port}: {place[0]}:{place[1]}")
    try:
        serve(served, pcap, seconds)
    finally:
        served.close()
        for line in counted(served):
            console.print(line)


def model_of(ports: int, slots: int, *, wide: bool, numbers: int | None, shadow: bool) -> Any:
    """Return the golden model of a switch with the only job, which has all ports and slots."""
    from hdl.allreduce.frame import wide_format
    from sim.golden.reduction.switch_model import SwitchModel
    from sim.golden.reduction.wide_frames import MOST
    from sim.golden.reduction.wide_switch import WideSwitchModel
    from sim.p4sgd.host.job import GROUP, SWITCH

    settings = (ports, slots, 1, SWITCH, GROUP, shadow)
    try:
        most = wide_format(numbers or MOST).most_numbers
    except ValueError as error:
        raise UserError(str(error).replace("most_numbers", "--numbers")) from None
    model = WideSwitchModel(*settings, most=most) if wide else SwitchModel(*settings)
    model.start_job(JOB, ports=(1 << ports) - 1, epoch=EPOCH, base=0, count=slots)
    return model


def opened(model: Any, host: str, first_port: int, **losses: Any) -> Any:
    """Return a switch behind sockets; raise UserError if there are none at these ports."""
    from sim.p4sgd.sockets.switch import SocketSwitch

    try:
        return SocketSwitch(model=model, host=host, first_port=first_port, **losses)
    except OSError as error:
        raise UserError(
            f"no sockets at {host}, ports {first_port} to {first_port + model.ports - 1}:"
            f" {error.strerror}; try another --first-port"
        ) from error


def serve(served: Any, pcap: Path | None, seconds: float | None) -> None:
    """Answer for ``seconds``, or until an interrupt; write the frames to the file ``pcap``."""
    from sim.harness.pcapng import CaptureWriter

    try:
        with open(pcap, "wb", 0) if pcap is not None else nullcontext() as file:
            if file is not None:
                served.record(CaptureWriter(file))
            while True:
                served.serve(AT_ONCE if seconds is None else seconds)
                if seconds is not None:
                    break
    except KeyboardInterrupt as stop:
        stop.add_note("the switch's counters stand above")
        raise
    except OSError as error:
        raise UserError(f"cannot write {pcap}: {error.strerror}") from error


def counted(served: Any) -> Iterator[str]:
    """Yield a line for each kind of frame that came: port, verdict, count."""
    yield f"{served.frames:,} frames came, {served.lost:,} were lost on the way in or out"
    for (port, verdict), count in sorted(served.model.counters.items()):
        yield f"port {port}: {count:,} {verdict}"
    if served.model.saturations:
        yield f"{served.model.saturations:,} numbers were clamped"
