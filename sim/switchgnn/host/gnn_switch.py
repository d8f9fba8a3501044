"""Drives a SwitchGNN switch: its tables, its jobs, and what is wrong with them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from sim.host.device import Device, chosen
from sim.host.switch.started_jobs import MAX_EPOCH, StartedJobs

LISTS, DESCRIPTORS, PROGRAM = range(3)  #: tables
ENTRY_BITS, VALID, PORT_SHIFT, WORD_BITS = 16, 1 << 15, 16, 32
MAX_CONTRIBUTIONS, MAX_STEPS = (1 << 16) - 1, 256

Row = Sequence[int | None]  #: for each bank an index, or None where nothing is added
#: contributions to a sum and the port that it leaves by, by the aggregator's number
Block = Mapping[int, tuple[int, int]]


@dataclass(frozen=True, kw_only=True)
class Tables:
    """Holds a job's tables; aggregator a is index a // banks of bank a % banks."""

    lists: Sequence[Row]
    blocks: Sequence[Block]
    program: Sequence[tuple[int, int]]  #: steps: number of a block, and for how many turns
    list_base: int = 0  #: the first row of the switch's lists that this job has
    descriptor_base: int = 0  #: the first row of the switch's descriptors that it has


@dataclass(frozen=True, kw_only=True)
class TableErrors:
    """Tells which contributions a job's lists asked for and were not made, since its start."""

    counts: Mapping[str, int]  #: by cause
    cause: str  #: of the first one, or NONE
    meaning: str  #: of that cause
    where: Mapping[str, int] = field(default_factory=dict)  #: its turn, row and aggregator


class GnnSwitch(StartedJobs):
    """Drives a switch that adds features up by lists."""

    verdict_count = "verdict_count"

    def set_acks(self, every: int, delay: int) -> None:
        """Acknowledge after ``every`` new frames of a port, and after ``delay`` cycles at most."""
        if not 1 <= every < 1 << 8 or not 0 <= delay < 1 << 16:
            raise ValueError(f"every must be 1 to 255, delay 0 to 65535: {every}, {delay}")
        self.registers.write(ack_every=every, ack_delay=delay)

    def set_marks(self, *, ingress: int, egress: int) -> None:
        """Report congestion where more beats than these wait at a port, in or out; 0: never."""
        if not all(0 <= level < 1 << 16 for level in (ingress, egress)):
            raise ValueError(f"levels must be 0 to 65535: {ingress}, {egress}")
        self.registers.write(ingress_mark=ingress, egress_mark=egress)

    def set_links(self, *, above: int, far_port: int, timeout: int) -> None:
        """Say how the last ports lead to other switches; while no job is active.

        The last ``above`` ports lead to switches above. Each of the other switches has this one at
        its port ``far_port``. PARTIALs are repeated after ``timeout`` cycles.
        """
        most = self.build.fixed.get("link_ports", 0)
        if not 0 <= above <= most:
            raise ValueError(f"above must be 0 to {most}: {above}")
        self.registers.write(above=above, far_port=far_port)
        self.registers.write(link_timeout=timeout)

    def start_job(
        self,
        job: int,
        *,
        ports: Sequence[int],
        epoch: int,
        base: int,
        depth: int,
        tables: Tables,
        two: bool = False,
        maximum: bool = False,
        load: bool = True,
    ) -> None:
        """Write a job's tables and start it with aggregators ``base`` to ``base + depth - 1`` of
        each bank, for all open turns together; with ``two``, two turns are open. With ``maximum``,
        aggregators have the largest of their contributions, lane by lane, in place of the sum.

        Without ``load``, lists and descriptors are those that an earlier job has left there.
        ``epoch`` numbers the job's runs. :class:`CommandRefused` says why it cannot be; ValueError,
        before anything is written, what is wrong with tables or ports.
        """
        fixed = self.build.fixed
        self._check_job(job, epoch, MAX_EPOCH)
        if not ports or any(not 0 <= port < fixed["ports"] for port in ports):
            raise ValueError(f"ports must be some of 0 to {fixed['ports'] - 1}: {list(ports)}")
        if depth < 1 or base < 0 or base + depth > fixed["depth"] or (two and depth % 2):
            raise ValueError(
                f"a bank has {fixed['depth']} aggregators, and two turns share an even number:"
                f" {depth} from {base}"
            )
        if maximum and not fixed.get("maxima"):
            raise ValueError("maximum needs a switch that is built with maxima")
        lists = self._list_rows(tables, depth // (1 + two))
        rows, steps = self._block_rows(tables, depth // (1 + two), ports)
        self._wait("the last command", "busy")  # until then the job's registers hold still
        if load:
            self._fill(LISTS, tables.list_base, lists, ENTRY_BITS * fixed["banks"])
            self._fill(DESCRIPTORS, tables.descriptor_base, rows, WORD_BITS * fixed["banks"])
        self.registers.write(job_number=job, job_epoch=epoch)
        self._write_rows(PROGRAM, 0, steps)
        self.registers.write(job_ports=sum(1 << port for port in set(ports)))
        self.registers.write(job_base=base)
        self.registers.write(job_depth=depth)
        self.registers.write(job_two=int(two), job_last_step=len(tables.program) - 1)
        if fixed.get("maxima"):
            self.registers.write(job_maximum=int(maximum))
        self.registers.write(job_list_base=tables.list_base)
        self.registers.write(job_list_rows=len(tables.lists))
        self._command("start_job")

    def table_errors(self, job: int) -> TableErrors:
        """Return what is wrong with a job's lists and descriptors."""
        self._check_job(job, 0, MAX_EPOCH)
        self.registers.write(job_number=job)
        names = [name for name in self.build.errors if name != "NONE"]
        counts = {name: int(self.registers.read(f"error_{name.lower()}")) for name in names}
        first = self.registers.read("first_cause")
        cause = getattr(first, "name", str(first))
        where = {
            name: int(self.registers.read(f"first_{name}"))
            for name in ("turn", "row", "aggregator")
        }
        return TableErrors(
            counts=counts, cause=cause, meaning=self.build.errors.get(cause, ""), where=where
        )

    def port_counters(self) -> dict[int, dict[str, int]]:
        """Return what left, and what was lost, by port and by the counter's name."""
        return {
            port: chosen(self.registers, self.build.port_counters, "port", counter_port=port)
            for port in range(self.build.fixed["ports"])
        }

    def counters(self) -> dict[str, int]:
        """Return the counters of the switch as a whole, by name."""
        return chosen(self.registers, self.build.total_counters, "total")

    def _list_rows(self, tables: Tables, depth: int) -> list[int]:
        """Return rows of lists as numbers."""
        banks, first = self.build.fixed["banks"], tables.list_base
        if first < 0 or first + len(tables.lists) > self.build.fixed["list_rows"]:
            raise ValueError(f"there are {self.build.fixed['list_rows']} rows of lists")
        rows = []
        for row in tables.lists:
            if len(row) != banks or any(k is not None and not 0 <= k < depth for k in row):
                raise ValueError(f"a row has {banks} indices below {depth}, or None: {row}")
            entries = (0 if index is None else VALID | index for index in row)
            rows.append(sum(entry << ENTRY_BITS * bank for bank, entry in enumerate(entries)))
        return rows

    def _block_rows(
        self, tables: Tables, depth: int, ports: Sequence[int]
    ) -> tuple[list[int], list[int]]:
        """Return rows of descriptors as numbers, and the words of the program's steps."""
        banks, rows, places = self.build.fixed["banks"], [], []
        for block in tables.blocks:
            height = 1 + max(block, default=-1) // banks
            places.append((tables.descriptor_base + len(rows), height))
            built = [0] * height
            for aggregator, (count, port) in block.items():
                right = 0 <= aggregator < depth * banks and 1 <= count <= MAX_CONTRIBUTIONS
                if not right or port not in ports:
                    raise ValueError(
                        f"aggregator {aggregator} must be below {depth * banks}, with 1 to"
                        f" {MAX_CONTRIBUTIONS} contributions and a port of the job:"
                        f" {count}, {port}"
                    )
                word = count | port << PORT_SHIFT
                built[aggregator // banks] |= word << WORD_BITS * (aggregator % banks)
            rows += built
        if tables.descriptor_base + len(rows) > self.build.fixed["descriptor_rows"]:
            raise ValueError(f"there are {self.build.fixed['descriptor_rows']} rows of descriptors")
        if not 1 <= len(tables.program) <= MAX_STEPS:
            raise ValueError(f"a program has 1 to {MAX_STEPS} steps: {len(tables.program)}")
        steps: list[int] = []
        for block, turns in tables.program:
            if not 0 <= block < len(places) or not 1 <= turns < 1 << WORD_BITS:
                raise ValueError(f"a step names a block and at least one turn: {block}, {turns}")
            steps += [*places[block], turns]
        return rows, steps

    def _fill(self, table: int, first: int, rows: Sequence[int], bits: int) -> None:
        """Write rows of this many bits of a table, where this build has its tables."""
        if self.build.memory[0]:
            self._write_memory(table, first, rows, bits // 8)
        else:
            words = -(-bits // WORD_BITS)
            each = (row >> WORD_BITS * k & 0xFFFF_FFFF for row in rows for k in range(words))
            self._write_rows(table, first, each)

    def _write_rows(self, table: int, first: int, words: Iterable[int]) -> None:
        """Write rows of a table on chip, word by word."""
        self.registers.write(table=table, table_row=first)
        self.registers.write(begin_table=1)
        for word in words:
            self.registers.write(table_word=word)
            self.registers.write(write_word=1)

    def _write_memory(self, table: int, first: int, rows: Sequence[int], size: int) -> None:
        """Write rows of a table into the memory of its ports; descriptors begin half-way."""
        room, beat_bytes = self.build.memory
        ports = self.build.fixed["table_ports"]
        line = room // beat_bytes // 2 if table == DESCRIPTORS else 0
        device = cast(Device, self.device)
        octets = b"".join(row.to_bytes(size, "little") for row in rows)
        at = first * size
        while octets:
            beat, inside = divmod(at, beat_bytes)
            part, octets = octets[: beat_bytes - inside], octets[beat_bytes - inside :]
            place = room * (beat % ports) + beat_bytes * (line + beat // ports) + inside
            device.write_memory(place, part)
            at += len(part)
        line_field: Any = "descriptor_line" if table == DESCRIPTORS else "list_line"
        self.registers.write(**{line_field: line})
        self.registers.write(revive_tables=1)
