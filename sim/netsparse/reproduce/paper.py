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


@dataclass(frozen=True, kw_only=True)
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


@dataclass(frozen=True, kw_only=True)
class Matrix:
    """Holds a matrix of table 6, and its figures in tables 1, 4 and 7."""

    rows: float
    nonzeros: float
    su: float
    sa: float
    destinations: float
    batch: int
    tail: Tail


MATRICES: Mapping[str, Matrix] = {
    "arabic": Matrix(
        rows=23e6,
        nonzeros=640e6,
        su=1947,
        sa=27,
        destinations=2.51,
        batch=32768,
        tail=Tail(
            filter_coalesce=0.97,
            prs_per_packet=5.7,
            hit_rate=0.26,
            goodput=0.35,
            utilisation=0.65,
            traffic=283,
            goodput_sa=0.01,
            prs_sa=3.8,
        ),
    ),
    "europe": Matrix(
        rows=51e6,
        nonzeros=108e6,
        su=582,
        sa=0.02,
        destinations=7.43,
        batch=8192,
        tail=Tail(
            filter_coalesce=0.08,
            prs_per_packet=4.5,
            hit_rate=0.05,
            goodput=0.37,
            utilisation=0.70,
            traffic=188,
            goodput_sa=0.10,
            prs_sa=1.3,
        ),
    ),
    "queen": Matrix(
        rows=4e6,
        nonzeros=317e6,
        su=74,
        sa=25,
        destinations=1.00,
        batch=32768,
        tail=Tail(
            filter_coalesce=0.95,
            prs_per_packet=19.6,
            hit_rate=0.50,
            goodput=0.40,
            utilisation=0.66,
            traffic=42,
            goodput_sa=0.11,
            prs_sa=1.1,
        ),
    ),
    "stokes": Matrix(
        rows=11e6,
        nonzeros=350e6,
        su=32,
        sa=3.6,
        destinations=1.85,
        batch=32768,
        tail=Tail(
            filter_coalesce=0.90,
            prs_per_packet=12.1,
            hit_rate=0.06,
            goodput=0.38,
            utilisation=0.64,
            traffic=17,
            goodput_sa=0.08,
            prs_sa=4.4,
        ),
    ),
    "uk": Matrix(
        rows=19e6,
        nonzeros=298e6,
        su=966,
        sa=4.5,
        destinations=5.61,
        batch=8192,
        tail=Tail(
            filter_coalesce=0.61,
            prs_per_packet=17,
            hit_rate=0.30,
            goodput=0.30,
            utilisation=0.50,
            traffic=271,
            goodput_sa=0.09,
            prs_sa=2.6,
        ),
    ),
}

#: Table 3: headers' share of SA's traffic, in per cent, by K.
HEADER_SHARES = {
    1: 97.6,
    2: 95.2,
    4: 90.9,
    8: 83.3,
    16: 71.4,
    32: 55.6,
    64: 38.5,
    128: 23.8,
    256: 13.5,
}

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
