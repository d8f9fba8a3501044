"""Holds what the paper says of its data sets and its results."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True, kw_only=True)
class DataSet:
    """Holds a row of table 1."""

    vertices: int
    features: int


DATA_SETS: Mapping[str, DataSet] = MappingProxyType(
    {
        "reddit": DataSet(vertices=232_965, features=602),
        "yelp": DataSet(vertices=716_847, features=300),
        "products": DataSet(vertices=2_449_029, features=100),
    }
)
MAX_WORKERS = 128
RACKS, SPINES = 8, 8  #: of section 6.2; a leaf has a link to each spine
MEMORY = 100  #: MB of aggregators, unless a figure sweeps it
LINK = 100e9  #: bits a second of a host's link (section 6)
DELAY = 2e-6  #: latency of a link in seconds
HIDDEN = 128  #: features of a hidden layer (section 5.1)
VALUE_BYTES = 4  #: of a feature
MEMORIES = (10, 25, 50, 75, 100)  #: MB

COPIES = 16  #: copies of a Reddit vertex at 128 workers (section 2.2)
UNLIMITED = -0.94  #: traffic of Reddit against the full graph's (section 2.4.1)
UNLIMITED_TO_STRAWMAN = -0.92  #: the same against the strawman's at 100 MB
HELD = 500  #: MB of aggregators that a memory without limit has in use
QUEUE = 1000  #: MB that wait in the strawman's switch after a ms
SKEW_WORKERS = 32  #: of figure 7
TOP_VERTICES, TOP_SHARE = 0.2, 0.8  #: a fifth of Reddit's vertices has this share of neighbours
CONNECTED = 0.99  #: of boundary vertices (section 3.3)
REDUCED = MappingProxyType({10: -0.23, 100: -0.81})  #: Reddit's traffic by memory (section 6.4)
EPOCH = MappingProxyType({"BNS-GCN": -0.74, "G3": -0.65, "strawman": -0.83})  #: section 6.2
