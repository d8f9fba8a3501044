"""Holds what the paper says, and what its authors' program ("binary") says of other defaults.

The binary's numbers are those of its result files (github.com/ClubieDong/MinaSimulator, MIT), or of
a run of it where the two differ.
"""

from types import MappingProxyType

#: Maps the rows of table I (placement, trees, sharing) to score and utilisation of the paper.
TABLE = MappingProxyType(
    {
        "---": (0.263, 0.080),
        "P--": (0.483, 0.129),
        "PT-": (0.900, 0.223),
        "PTS": (0.982, 0.224),
        "-TS": (0.947, 0.199),
        "P-S": (0.979, 0.123),
    }
)
BINARY_TABLE = MappingProxyType(
    {
        "---": (0.1709, 0.0566),
        "P--": (0.5481, 0.1721),
        "PT-": (0.6036, 0.1730),
        "PTS": (0.9410, 0.1757),
        "-TS": (0.8523, 0.0676),
        "P-S": (0.5481, 0.1721),
    }
)
BASELINE, MINA, MAX_MINA = 0.399, 0.968, 0.9998  #: figure 11: means of ten traces, and the best
USED, MAX_USED = 2.32, 2.81  #: times the baseline's utilisation, in the mean and at most
BINARY_BASELINES = (
    *(0.1709, 0.2934, 0.2897, 0.2343, 0.1913),
    *(0.2934, 0.2474, 0.3455, 0.4469, 0.8995),
)
BINARY_MINA = (
    *(0.9392, 0.8691, 0.8400, 0.8327, 0.8857),
    *(0.8691, 0.9468, 0.9340, 0.9837, 0.9989),
)
PAIRS, GOOD_PAIRS, GOOD = 0.939, 33, 0.95  #: figure 12
BINARY_SHARING = MappingProxyType({2: 0.9384, 3: 0.8443, 4: 0.7482})
BINARY_GOOD_PAIRS = 29
PLACEMENT_GAIN, MAX_PLACEMENT_GAIN = 0.131, 0.173  #: figure 13, in the mean and at most
BINARY_FIRST = (0.124, 0.132, 0.166, 0.157, 0.159, 0.171, 0.171, 0.171)
BINARY_DP = (0.201, 0.301, 0.413, 0.488, 0.442, 0.459, 0.453, 0.548)
FLAT_FROM = 4  #: candidates, figure 14
BINARY_CANDIDATES = (0.915, 0.933, 0.940, 0.938, 0.939, 0.932, 0.958, 0.940, 0.948, 0.950, 0.939)
BINARY_SECONDS = (39, 64, 139, 141, 199, 196, 277, 270, 305, 229, 526)
MIGRATIONS, BINARY_MIGRATIONS = 5.02, 2.0  #: of a job
RELEASE, REALLOCATION, MIGRATION = 125, 294, 559  #: milliseconds of a migration on the testbed
MIGRATIONS_TRIED = 500  #: on the testbed
BINARY_CONFLICTS = 0.78  #: figure 2: share of 5,000 jobs without a tree
