"""Finds the simulations that run."""

import psutil


def simulations():
    """Return all processes below this one that run a simulator, by the folder that each is in."""
    below = psutil.Process().children(recursive=True)
    running = [each for each in below if value_of(each, psutil.Process.name) == "simulation"]
    folders = [(value_of(each, psutil.Process.cwd), each) for each in running]
    return {folder: each for folder, each in folders if folder}


def part_that_runs(name):
    """Return the process that simulates the part of this name; None if there is none yet."""
    running = simulations().items()
    return next((each for folder, each in running if folder.endswith(f"/{name}")), None)


def value_of(process, what):
    """Return what a process is asked for; nothing if it has ended."""
    try:
        return what(process)
    except psutil.Error:
        return ""
