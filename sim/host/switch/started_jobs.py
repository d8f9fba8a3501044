"""Drives a switch whose jobs the host alone starts and stops."""

from sim.host.switch.job_switch import JobSwitch

MAX_EPOCH = (1 << 16) - 1


class StartedJobs(JobSwitch):
    """Drives a switch whose jobs run side by side, each from its start until it is stopped."""

    def stop_job(self, job: int) -> None:
        """Stop a job; the switch then drops its frames."""
        self._check_job(job, 0, MAX_EPOCH)
        self._wait("the last command", "busy")  # which may still use the job's registers
        self.registers.write(job_number=job)
        self._command("stop_job")
