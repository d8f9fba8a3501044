"""The options of ``ingather train``."""

from pathlib import Path
from typing import Annotated

import typer

from sim.p4sgd.golden import sgd as p4sgd

MOST_WORKERS = 16

Data = Annotated[
    str,
    typer.Option(help="digits, breast-cancer, or a LIBSVM (.gz, .bz2, .xz too) or .npz file."),
]
Test = Annotated[
    str | None,
    typer.Option(
        metavar="FILE|FRACTION",
        help="Samples to test on and not to train on: a file, or a fraction such as 0.2 of the"
        " data, the last after shuffling.",
    ),
]
NoShuffle = Annotated[
    bool, typer.Option("--no-shuffle", help="Train in the order of the data, not of the seed.")
]
Output = Annotated[
    Path, typer.Option("-o", "--output", help="Folder for results, picture and weights.")
]
Preset = Annotated[str, typer.Option(help="Hardware: tiny, small or u280.")]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="NAME=VALUE", help="Change a parameter of the hardware."),
]
Engines = Annotated[int | None, typer.Option(help="Engines of the hardware.")]
Loss = Annotated[p4sgd.Loss, typer.Option(help="What to minimise.")]
Positive = Annotated[
    str | None,
    typer.Option(metavar="CLASS", help="Class against the rest, or a threshold such as >=5."),
]
Bias = Annotated[bool, typer.Option("--bias", help="Add a constant feature.")]
Bits = Annotated[int, typer.Option(help="Precision of a feature.")]
StoredBits = Annotated[int | None, typer.Option(help="Precision in memory, if more than is read.")]
GlobalScale = Annotated[bool, typer.Option("--global-scale", help="One scale for all features.")]
Center = Annotated[
    bool,
    typer.Option(
        "--center",
        help="Take its mean off every feature, and add a constant one: allows a larger learning"
        " rate. Codes become signed, which takes a bit of their precision.",
    ),
]
Batch = Annotated[int, typer.Option(help="Samples of a mini-batch.")]
Eta = Annotated[
    float | None,
    typer.Option(help="Learning rate.", show_default="from the data: 1 / smoothness of the loss"),
]
L2Shift = Annotated[
    int, typer.Option(help="Weights lose 2^-N of themselves per mini-batch; needs l2=true.")
]
Epochs = Annotated[int, typer.Option(help="Times through the data.")]
Workers = Annotated[
    int,
    typer.Option(
        min=1,
        max=MOST_WORKERS,
        help="Workers that share the features; with 2 or more, and a switch.",
    ),
]
Schedule = Annotated[
    p4sgd.Schedule, typer.Option(help="Order of forward, communication and backward.")
]
LinkLatency = Annotated[
    int,
    typer.Option(min=0, max=4095, help="Cycles of a link between worker and switch, one way."),
]
Drop = Annotated[float, typer.Option(min=0, max=1, help="Chance that a link drops a packet.")]
Duplicate = Annotated[float, typer.Option(min=0, max=1, help="Chance that it doubles one.")]
Reorder = Annotated[
    float, typer.Option(min=0, max=1, help="Chance that it delays one out of turn.")
]
Corrupt = Annotated[float, typer.Option(min=0, max=1, help="Chance that it flips a bit of one.")]
Displacement = Annotated[
    int,
    typer.Option(min=0, max=4095, help="Most cycles by which a packet out of turn is late."),
]
Timeout = Annotated[
    int,
    typer.Option(
        min=0,
        max=8388607,
        help="Cycles until a packet is sent again; 0 takes what suits the links.",
    ),
]
Retries = Annotated[
    int, typer.Option(min=0, max=255, help="Repetitions before a worker gives up; 0 for ever.")
]
MemoryLatency = Annotated[
    int, typer.Option(min=0, max=1023, help="Cycles of the simulated memory.")
]
MemoryStall = Annotated[
    int, typer.Option(min=0, max=250, help="Chance in 256 that the memory pauses, every cycle.")
]
Seed = Annotated[
    int,
    typer.Option(
        min=0,
        max=2147483647,
        help="Of the order of the samples, the memory's pauses and the links' faults.",
    ),
]
