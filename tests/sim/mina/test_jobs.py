"""Tests which jobs, models and topologies are read, and which are refused."""

import json
import re

import pytest

from gen.base.errors import UserError
from sim.mina.cluster import FatTree, parse_topology
from sim.mina.jobs import read_jobs
from sim.mina.workload import ScheduleWorkload, Trees
from tests.rejects import rejects

OP = {"start": 0.01, "size": 1000}
MODEL = {"duration": 0.05, "allreduces": [OP, {"start": 0.02, "size": 2000}]}
JOB = {"model": "mine", "hosts": 2, "steps": 3}


def content(job=None, **model):
    return {"models": {"mine": MODEL | model}, "jobs": [JOB | (job or {})]}


@pytest.fixture
def saved(tmp_path):
    def save(what):
        path = tmp_path / "jobs.json"
        path.write_text(what if isinstance(what, str) else json.dumps(what))
        return path

    return save


def test_reads_jobs_and_models(saved):
    result = read_jobs(saved(content(allreduces=[OP | {"size": 1e8}])))
    assert result.models[-1].sizes == (100_000_000,)
    assert result.jobs[0].model == result.models[-1].name == "mine"
    later = [JOB | {"model": "ViT-base", "arrival": 2.5}, JOB | {"model": "OPT-1.3B"}]
    assert [job.arrival for job in read_jobs(saved(later)).jobs] == [0, 2.5]


@pytest.mark.parametrize(
    ("what", "says"),
    [
        ("{", "is not JSON"),
        ([], "has no job"),
        ({"models": {}}, "must have a list of jobs"),
        ([1], "job 1 must have model, hosts and steps"),
        (content({"model": "vit-base"}), "did you mean ViT-base?"),
        (content({"hosts": 0}), "job 1: hosts must be at least 1: 0"),
        (content({"hosts": 2.5}), "hosts, steps and sizes must be integers: 2.5"),
        (content({"steps": 0}), "job 1: steps must be at least 1: 0"),
        (content({"arrival": -1}), "arrival must be from 0 to 2^40 seconds: -1.0"),
        (content({"arrival": float("nan")}), "arrival must be from 0"),
        (content({"arrival": 1e300}), "arrival must be from 0"),
        (content({"arival": 1}), "job 1: 'arival' is none of model, hosts, steps, arrival"),
        (content({"steps": 10**30}), "hosts, steps and sizes must be at most 2^40: 1000"),
        (content(duration=float("nan")), "model mine: times must be from 0"),
        (content(duration=-1), "model mine: times must be from 0 to 2^40 seconds"),
        (content(duration=0), "must be more than 0 seconds"),
        (content(allreduces=[OP | {"start": -0.1}]), "times must be from 0"),
        (content(allreduces=[OP, OP | {"start": 0}]), "in the order of their starts"),
        (content(allreduces=[OP | {"size": 1.5}]), "sizes must be integers: 1.5"),
        (content({"arrival": 10**400}), "job 1 must have model"),
        ("[" * 100_000, "is not JSON"),
        (content(allreduces=[OP | {"size": 0}]), "sizes must be at least 1 byte"),
        (content(allreduces=[]), "at least one all-reduce"),
        (content(allreduces=[{}]), "allreduces with start and size"),
    ],
)
def test_refuses(saved, what, says):
    with pytest.raises((ValueError, UserError), match=re.escape(says)):
        read_jobs(saved(what))


def test_topology_of_the_paper():
    tree = parse_topology("8,8,16:1,8,8")
    assert tree == FatTree()
    assert (tree.hosts, tree.switches) == (1024, 320)
    assert [tree.switches_of(layer) for layer in (1, 2, 3)] == [128, 128, 64]


test_workload_refuses = rejects(
    ScheduleWorkload,
    ({"topology": "8,8,16"}, re.escape("DOWN,...:UP,...")),
    ({"topology": "8,8,16:1,8"}, "as many numbers of links up as down"),
    ({"topology": "8,8:1,0"}, "at least 1 link"),
    ({"topology": "9999,9999:1,1"}, "at most"),
    ({"ratio": 0.9}, "ratio must be from 1"),
    ({"ratio": float("nan")}, "ratio must be"),
    ({"alpha": -0.1}, "alpha must be"),
    ({"candidates": 0}, "candidates must be"),
    ({"latency": -1e-6}, "latency must be"),
    ({"gpu_speed": float("nan")}, "gpu_speed must be"),
    ({"trace": 11}, "trace must be"),
    ({"capacity": 2, "trees": Trees.MIS}, "a capacity above 1"),
)


def test_hosts_beyond_the_cluster_are_refused_before_the_run():
    with pytest.raises(ValueError, match="at most the 8 of the cluster: job 2 has 16"):
        ScheduleWorkload(topology="4,2:1,2").job_list()
