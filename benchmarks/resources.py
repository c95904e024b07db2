"""Clock and memory readings of this process."""

import re
import time


def _status(field):
    with open("/proc/self/status") as status:
        match = re.search(r"^%s:\s*(\d+) kB" % field, status.read(), re.MULTILINE)
    if match is None:
        raise RuntimeError("/proc/self/status has no %s: this needs Linux" % field)
    return int(match.group(1)) * 1024


def resident_bytes():
    return _status("VmRSS")


def peak_resident_bytes():
    """The most that was resident since the process started or since `forget_peak`."""
    return _status("VmHWM")


def forget_peak():
    with open("/proc/self/clear_refs", "w") as control:
        control.write("5")


def time_steps(step, seconds, minimum=5, warm_up=2):
    """Calls `step()` for about `seconds`, at least `minimum` times; returns seconds per call.

    The warm-up calls, not counted, bring the process's data back into the caches after another
    process has had the machine.
    """
    for _ in range(warm_up):
        step()
    durations = []
    deadline = time.perf_counter() + seconds
    while len(durations) < minimum or time.perf_counter() < deadline:
        start = time.perf_counter()
        step()
        durations.append(time.perf_counter() - start)
    return durations
