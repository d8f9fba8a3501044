"""Says what a forwarding switch does with a packet: where it goes, in which class, what counts.

It follows IEEE 802.1Q (relay, filtering, learning, ageing), RFC 3168 (ECN), RFC 1624 (the mended
checksum), RFC 2863 and RFC 2819 (counters). When packets leave, and which are lost for want of
room, depends on time and is not said here; the order of packets of one class from one port to
another is that in which they came.
"""

from collections import Counter
from dataclasses import dataclass, field

from sim.golden.forwarding.mac_table import MacTable

LEAST_BYTES, FCS_BYTES = 60, 4
GROUPS, DSCPS, PRIORITIES = 16, 64, 8
VLAN_TYPE, IPV4_TYPE = 0x8100, 0x0800
RESERVED = bytes.fromhex("0180c20000")  #: with 0x00 to 0x0f behind it: no bridge forwards these
BROADCAST = b"\xff" * 6
SIZES = (64, 65, 128, 256, 512, 1024, 1519)  #: least lengths of the ranges that are counted
ERRORS = ("bad_fcs", "undersize", "oversize", "cut")


@dataclass(frozen=True)
class Header:
    """Reads what a switch reads of a packet."""

    octets: bytes

    @property
    def tag(self) -> int | None:
        """Return the VLAN tag, if there is one."""
        tagged = int.from_bytes(self.octets[12:14], "big") == VLAN_TYPE
        return int.from_bytes(self.octets[14:16], "big") if tagged else None

    @property
    def ip_at(self) -> int | None:
        """Return where the IPv4 header begins, if there is one."""
        at = 14 if self.tag is None else 18
        same = int.from_bytes(self.octets[at - 2 : at], "big") == IPV4_TYPE
        return at if same and self.octets[at] >> 4 == 4 else None


def marked(octets: bytes) -> bytes:
    """Return an ECN-capable IPv4 packet with the mark CE and a right checksum, others unchanged."""
    at = Header(octets).ip_at
    if at is None or octets[at + 1] & 3 in (0, 3):
        return octets
    old, new = octets[at : at + 2], bytes((octets[at], octets[at + 1] | 3))
    check = int.from_bytes(octets[at + 10 : at + 12], "big")
    # RFC 1624, equation 3: HC' = ~(~HC + ~m + m')
    total = (check ^ 0xFFFF) + (int.from_bytes(old, "big") ^ 0xFFFF) + int.from_bytes(new, "big")
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    mended = (total ^ 0xFFFF).to_bytes(2, "big")
    return octets[:at] + new + octets[at + 2 : at + 10] + mended + octets[at + 12 :]


@dataclass
class Rules:
    """Holds what an operator sets."""

    ports: int
    classes: int
    max_bytes: int
    own_group: list[int] = field(default_factory=list)  #: by port, of packets without a VLAN id
    groups: list[set[int]] = field(default_factory=list)  #: by port
    vlans: dict[int, int] = field(default_factory=dict)  #: VLAN ids to groups
    codes: list[int] = field(default_factory=list)  #: classes by DSCP, then by VLAN priority
    learning: bool = True

    def __post_init__(self) -> None:
        self.own_group = self.own_group or [0] * self.ports
        self.groups = self.groups or [{0} for _ in range(self.ports)]
        if not self.codes:
            levels = [code // 8 for code in range(DSCPS)] + list(range(PRIORITIES))
            self.codes = [level * self.classes // PRIORITIES for level in levels]


class ForwardingSwitch:
    """Forwards packets as ``rules`` say; ``counts[port]`` has the counters of a port.

    What should leave by a port that is ``down`` is discarded; what comes from it is in no group.
    """

    def __init__(self, rules: Rules, rows: int) -> None:
        self.rules, self.table = rules, MacTable(rows)
        self.counts: list[Counter[str]] = [Counter() for _ in range(rules.ports)]
        self.down: set[int] = set()

    def set_down(self, ports: set[int]) -> None:
        """Take ports down, which forgets their addresses (IEEE 802.1Q), or up."""
        for port in ports - self.down:
            self.table.forget(port)
        self.down = ports

    def receive(self, port: int, octets: bytes, *, corrupt: bool = False) -> tuple[int, list[int]]:
        """Take a packet from ``port``; return its class and the ports that it leaves from.

        ``corrupt`` says that its checksum is wrong.
        """
        counts, group = self.counts[port], self.group_of(port, octets)
        outputs, cause = self.outputs_of(port, octets, group)
        error = self.error_of(octets, corrupt)
        self.measure(counts, "in", octets, good=error is None)
        learns = error is None and cause != "no_group" and not octets[6] & 1
        if learns and group is not None and self.rules.learning:
            self.table.learn(int.from_bytes(octets[6:12], "big"), group, port)
        cause = error or cause
        if cause:
            counts[f"in_{cause}"] += 1
            return 0, []
        for output in outputs:
            if output in self.down:
                self.counts[output]["out_discards"] += 1  # ifOutDiscards
            else:
                self.measure(self.counts[output], "out", octets, good=True)
        return self.class_of(octets), [output for output in outputs if output not in self.down]

    def error_of(self, octets: bytes, corrupt: bool) -> str | None:
        """Return what is wrong with a packet, if anything is."""
        if corrupt:
            return "bad_fcs"
        if len(octets) < LEAST_BYTES:
            return "undersize"
        return "oversize" if len(octets) > self.rules.max_bytes else None

    def group_of(self, port: int, octets: bytes) -> int | None:
        """Return the group of a packet: that of its VLAN id, or the port's own; None if none."""
        tag = Header(octets).tag
        if tag is None or not tag & 0xFFF:
            return self.rules.own_group[port]
        return self.rules.vlans.get(tag & 0xFFF)

    def class_of(self, octets: bytes) -> int:
        """Return the class of a packet: by DSCP if it is IPv4, else by its tag's priority."""
        header = Header(octets)
        if header.ip_at is not None:
            return self.rules.codes[octets[header.ip_at + 1] >> 2]
        return 0 if header.tag is None else self.rules.codes[DSCPS + (header.tag >> 13)]

    def outputs_of(self, port: int, octets: bytes, group: int | None) -> tuple[list[int], str]:
        """Return the ports that a packet leaves from, or none and why."""
        members = [k for k, groups in enumerate(self.rules.groups) if group in groups]
        if group is None or port not in members or port in self.down:
            return [], "no_group"
        dest = int.from_bytes(octets[:6], "big")
        entry = None if octets[0] & 1 else self.table.find(dest, group)
        known = members if entry is None else [k for k in members if k == entry.port]
        outputs = [k for k in known if k != port]
        reserved = octets[:5] == RESERVED and octets[5] < 16
        return ([], "filtered") if reserved or not outputs else (outputs, "")

    @staticmethod
    def measure(counts: Counter[str], way: str, octets: bytes, *, good: bool) -> None:
        """Count a packet's octets and length, and its kind if it is good."""
        length = len(octets) + FCS_BYTES
        counts[f"{way}_octets"] += length
        if length >= SIZES[0]:
            counts[f"{way}_pkts_from_{max(size for size in SIZES if size <= length)}"] += 1
        kind = (
            "broadcast" if octets[:6] == BROADCAST else "multicast" if octets[0] & 1 else "unicast"
        )
        if good:
            counts[f"{way}_{kind}_pkts"] += 1
