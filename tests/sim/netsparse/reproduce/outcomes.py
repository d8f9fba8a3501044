"""Makes up outcomes of runs: counters that give the figures which a test wants."""

from dataclasses import dataclass

from sim.netsparse.reproduce.egress_load import EgressLoad
from sim.netsparse.reproduce.runs import Outcome, software, useful
from sim.netsparse.reproduce.subjects import Subject, subjects
from sim.netsparse.spmm_report import NodeFigures

FEW = subjects(scale=0.02)
NO_LOAD = EgressLoad(entered=1, mirrored=0, recirculated=0, busiest=1, busiest_mirrored=1)


@dataclass(frozen=True, kw_only=True)
class Order:
    """The figures of a run."""

    traffic: float = 100.0
    speed_up: float = 50.0
    filter_coalesce: float = 0.9
    prs_per_packet: float = 10.0
    hit_rate: float = 0.3
    goodput: float = 0.4
    link_bytes: float = 1e6
    prs_sa: float = 2.0
    egress: EgressLoad = NO_LOAD
    counted: float = 1000.0  #: PRs, packets and hits of all nodes
    first_ends: float = 0.5  #: share of the cycles after which all nodes but the last have ended


def outcome(point, required=None):
    """Return an outcome of ``point`` with the figures that are ``required``."""
    required = required or Order()
    su, sa = software(point.subject, point.property_bytes)
    node = int(sa.prs.sum(axis=1).argmax())  # a small matrix has nodes without any
    line = point.cluster.line_bytes
    cycles = su.cycles(line) / required.speed_up
    received = su.received / required.traffic
    prs = sa.prs[node].sum() / required.prs_sa
    responses = required.goodput * cycles * line / point.property_bytes
    unit = {
        "prs": prs,
        "responses": responses,
        "coalesced": prs / (1 - required.filter_coalesce) - prs,
        "filtered": 0,
    }
    snic = {
        "reads_received_bytes": 0,
        "responses_received_bytes": received,
        "responses_received_packets": responses / required.prs_per_packet,
    }
    figures = {
        "cycles": cycles,
        "link_bytes": required.link_bytes,
        "cache_hit_rate": required.hit_rate,
        "filter_coalesce_rate": required.filter_coalesce,
        "unit_prs": required.counted,
        "link_packets": required.counted,
        "cache_hits": required.counted,
    }
    early = [round(required.first_ends * cycles)] * (point.subject.nodes - 1)
    return Outcome(
        figures=figures,
        tail=NodeFigures(unit, snic, cycles, point.property_bytes, 16, 1, {}, 0),  # pyright: ignore
        tail_node=node,
        tail_useful=useful(point.subject.matrix, point.subject.partition, node),
        tail_hit_rate=required.hit_rate,
        busiest_client=100,
        busiest_link="node 0 -> ToR 0",
        busiest_link_bytes=round(received),
        node_cycles=(*early, round(cycles)),
        max_received=round(received),
        egress=required.egress,
        su=su,
        sa=sa,
        line_bytes=line,
        exact=True,
        seconds=1.0,
    )


def broken(claims, form=""):
    """Return the texts of one form's claims that do not hold."""
    return [claim.text for claim in claims if not claim.holds and claim.text.startswith(form)]


def small(path, size, places, nodes, family="uk"):
    """Return a matrix that is written to ``path``, by the rows and columns of its nonzeros."""
    head = f"%%MatrixMarket matrix coordinate pattern general\n{size} {size} {len(places)}\n"
    path.write_text(head + "".join(f"{row} {column}\n" for row, column in places))
    return Subject(family=family, text=str(path), nodes=nodes)
