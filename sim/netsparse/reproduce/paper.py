"""Holds the numbers that NetSparse (MICRO '25) prints, to be compared with ours."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

NODES, RACKS = 128, 8
UNITS = 32
CLOCK_GHZ = 2.2  #: clock of a SNIC (table 5)
LINE_GBPS = 400
LINK_NS = 450  #: latency of a link, one way
HOST_NS = 400  #: round trip over PCI Express
DRAM_NS = 50  #: latency of SNIC memory; our choice, as the paper gives none
NIC_DELAY, SWITCH_DELAY = 500, 125  #: DelayCycles, in cycles of 2.2 GHz
CACHE_BYTES = 32 << 20  #: size of a switch's cache
SOFTWARE_US = 0.8  #: time of a SAOpt core for a PR; 64 cores then fill 10 % of the line
CORES = 64
PROPERTY_BYTES = {1: 4, 16: 64, 128: 512}  #: maps K to bytes

SU_MEAN = 720
SHARED_IN_RACK = 0.85  #: share of useful PRs, with racks of 16
NETSPARSE_OVER_SUOPT, NETSPARSE_OVER_SAOPT = 33, 15  #: geometric means of figure 12
CACHE_GAIN = 1.4  #: speed-up of arabic by caches, figure 18


@dataclass(frozen=True)
class Tail:
    """Holds a row of table 7: the node that takes longest, K = 16."""

    filter_coalesce: float
    prs_per_packet: float
    hit_rate: float
    goodput: float
    utilisation: float
    traffic: float  #: SUOpt's bytes for each one received
    goodput_sa: float
    prs_sa: float  #: SAOpt's PRs for each one sent


@dataclass(frozen=True)
class Matrix:
    """Holds a matrix of table 6, and its figures in tables 1, 4 and 7."""

    rows: float
    nonzeros: float
    su: float
    sa: float
    destinations: float
    batch: int
    tail: Tail


#: Tables 6, 1 and 4: each matrix with its rows, nonzeros, SU, SA, destinations and batch.
_MATRICES = {
    "arabic": (23e6, 640e6, 1947, 27, 2.51, 32768),
    "europe": (51e6, 108e6, 582, 0.02, 7.43, 8192),
    "queen": (4e6, 317e6, 74, 25, 1.00, 32768),
    "stokes": (11e6, 350e6, 32, 3.6, 1.85, 32768),
    "uk": (19e6, 298e6, 966, 4.5, 5.61, 8192),
}

#: Table 7: the figures of each matrix's tail node, in the order of the fields of ``Tail``.
_TAILS = {
    "arabic": (0.97, 5.7, 0.26, 0.35, 0.65, 283, 0.01, 3.8),
    "europe": (0.08, 4.5, 0.05, 0.37, 0.70, 188, 0.10, 1.3),
    "queen": (0.95, 19.6, 0.50, 0.40, 0.66, 42, 0.11, 1.1),
    "stokes": (0.90, 12.1, 0.06, 0.38, 0.64, 17, 0.08, 4.4),
    "uk": (0.61, 17, 0.30, 0.30, 0.50, 271, 0.09, 2.6),
}

MATRICES: Mapping[str, Matrix] = {
    name: Matrix(*row, tail=Tail(*_TAILS[name])) for name, row in _MATRICES.items()
}

#: Table 3: headers' share of SA's traffic, in per cent, by K.
HEADER_SHARES = dict(
    zip(
        (1, 2, 4, 8, 16, 32, 64, 128, 256),
        (97.6, 95.2, 90.9, 83.3, 71.4, 55.6, 38.5, 23.8, 13.5),
        strict=True,
    )
)

STEPS = ("RIG", "Filter", "Coalesce", "Conc NIC", "Switch")  #: table 8; each adds to those before

#: Table 8: for each step, by matrix and K: the speed-up over SUOpt, and the tail node's traffic
#: reduction and goodput in per cent.
ABLATION: Mapping[str, Mapping[int, Sequence[tuple[float, float, float]]]] = {
    "arabic": {
        1: ((0.2, 3.1, 0.4), (3.4, 17.4, 0.8), (8.4, 34.6, 0.9), (12.6, 80.8, 1.1),
            (13.7, 115.5, 0.9)),
        16: ((1.8, 5.3, 22.9), (34.2, 63.2, 22.2), (88.0, 118.5, 23.8), (129.1, 191.2, 34.0),
             (184.1, 283.4, 35.2)),
        128: ((3.6, 8.5, 39.4), (78.7, 109.0, 56.7), (184.8, 279.9, 54.0), (184.2, 310.7, 52.6),
              (250.4, 398.0, 55.1)),
    },
    "europe": {
        1: ((7.4, 8.8, 2.3), (7.5, 8.9, 2.4), (8.1, 9.6, 2.3), (14.1, 19.1, 4.1),
            (15.1, 24.8, 4.0)),
        16: ((82.8, 99.1, 26.2), (84.8, 100.8, 26.4), (91.3, 108.7, 26.4), (122.1, 159.6, 35.2),
             (132.1, 188.4, 36.5)),
        128: ((176.0, 248.0, 55.7), (175.5, 252.2, 54.7), (190.3, 272.1, 54.9),
              (197.8, 292.9, 57.1), (202.8, 301.5, 58.4)),
    },
}  # fmt: skip
