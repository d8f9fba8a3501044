"""Starts jobs on a P4SGD switch, with their ports and slots."""

from sim.host.switch.started_jobs import MAX_EPOCH, StartedJobs


class Switch(StartedJobs):
    """Drives a switch whose jobs run side by side."""

    def start_job(self, job: int, *, ports: list[int], epoch: int, base: int, slots: int) -> None:
        """Start a job of the workers at ``ports``, with slots ``base`` to ``base + slots - 1``.

        ``epoch`` numbers the job's runs: a start after a failure takes another one. The slots are
        cleared when this returns. :class:`CommandRefused` says why it cannot be.
        """
        self._check_job(job, epoch, MAX_EPOCH)
        self._wait("the last command", "busy")  # until then the job's registers hold still
        self._set_place(ports, base, slots)
        self.registers.write(job_number=job, job_epoch=epoch)
        self._command("start_job")
