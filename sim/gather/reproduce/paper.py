"""Holds what the paper says of its own machine: a GPU on Gen4 x16 (sections 3.2, 4.1 to 4.4, 5).

All numbers are written out in the paper's text; none has been read off a chart. What the gather
replaces is modelled after sections 4.4.1 and 5: a processor reads every row and writes it, which is
two more passes over host memory beside that of the copy by DMA. No row is copied before all are
gathered.
"""

MEMCPY = 25.8e9  #: bytes a second of a copy by DMA, the best that its link gave
TWO_COPIES = 51.7e9  #: bytes a second of copies to two GPUs at the same time
MEMORY = 59e9  #: bytes a second of host memory under real workloads
LINE = 128  #: bytes of most reads
ROUND_TRIP = 1.5e-6  #: seconds from a read to its data
MAX_READS = 768  #: reads under way on Gen4

PERFECT = 0.951  #: share of a copy's bandwidth for rows of 1,024 bytes, in either order
NAIVE = (0.78, 0.82)  #: the same for rows of 1,028 to 1,044 bytes
ALIGNED = (0.88, 0.93)
OF_DMA = 0.5  #: bandwidth of DMA as a share of that of the gather: "only about half"

#: Maps a share of the GPU to bytes a second (Figure 10); above 15 % they stay the same.
BY_SHARE = {0.025: 9.5e9, 0.1: 20.2e9, 0.15: 23.0e9}
WARPS = 82 * 48  #: warps of the whole GPU; each has a read under way
FULL_RATE_READS = 325  #: reads of a line that must be under way for the full rate

FEATURES = {"ogbn-papers100M": 128, "wikipedia": 315, "amazon": 578}  #: of float32, table 4
SECOND_GPU = (0.21, 0.27)  #: what another GPU gains with DMA
#: Maps order and GPUs to how many times as fast as with DMA trainings are (4.4.1). The naive kernel
#: on one GPU is 2 to 17 % slower.
GAINS = {
    ("naive", 1): (0.83, 0.98),
    ("aligned", 1): (1.16, 1.44),
    ("naive", 2): (1.30, 1.41),
    ("aligned", 2): (1.65, 1.92),
}

SMALL_ROWS = (1.5, 1.6)  #: speed-up of training over DMA, two GPUs, small rows
LARGE_ROWS = 2.7  #: the same with rows of 16 KB, the largest
SET_UP = 3.16e-6  #: seconds to set up a copy by DMA
SET_UP_BYTES = 85.5e3  #: bytes that the link carries in that time


def reads_of(share: float) -> float:
    """Return how many reads a share of the GPU keeps under way, one each warp (section 3.2.2)."""
    return min(MAX_READS, share * WARPS)


def gathered(link: float, memory: float, cards: int = 1) -> float:
    """Return bytes of rows a second to all ``cards``: gathered by the processor, then copied.

    ``link`` and ``memory`` are bytes a second of one card's copy and of host memory. The cards'
    copies run at the same time, as far as host memory carries them.
    """
    return 1 / (1 / min(cards * link, memory) + 2 / memory)


def copied(row_bytes: float, link: float, set_up: float) -> float:
    """Return bytes a second if each row is a copy of its own, which takes ``set_up`` seconds."""
    return row_bytes / (set_up + row_bytes / link)
