"""Facts about the machine that a reader needs to compare two runs."""

import os
import platform
import re
import subprocess


def _first_match(path, pattern):
    try:
        with open(path) as lines:
            match = re.search(pattern, lines.read(), re.MULTILINE)
    except FileNotFoundError:
        return None
    return match.group(1).strip() if match else None


def _compiler():
    done = subprocess.run(["g++", "--version"], stdout=subprocess.PIPE, check=True)
    return done.stdout.decode().splitlines()[0]


def _revision(repository):
    """The commit that is measured, marked when the tree holds anything else; None without git."""
    git = ["git", "-C", repository]
    try:
        head = subprocess.run(git + ["rev-parse", "HEAD"], stdout=subprocess.PIPE, check=True)
        status = subprocess.run(
            git + ["status", "--porcelain", "--untracked-files=no"],
            stdout=subprocess.PIPE,
            check=True,
        )
    except (FileNotFoundError, subprocess.CalledProcessError):
        return None
    return head.stdout.decode().strip() + (" and changes" if status.stdout.strip() else "")


def machine_facts(repository):
    """A JSON-able dict: processor, cores, memory in bytes, huge pages, kernel, compiler, commit."""
    memory_kib = _first_match("/proc/meminfo", r"^MemTotal:\s*(\d+)")
    return {
        "processor": _first_match("/proc/cpuinfo", r"^model name\s*:(.*)$") or platform.processor(),
        "processor_flags": [
            flag
            for flag in ("avx2", "fma", "avx512f")
            if flag in (_first_match("/proc/cpuinfo", r"^flags\s*:(.*)$") or "").split()
        ],
        "cores": len(os.sched_getaffinity(0)),
        "memory_bytes": int(memory_kib) * 1024 if memory_kib else None,
        "transparent_huge_pages": _first_match(
            "/sys/kernel/mm/transparent_hugepage/enabled", r"\[(\w+)\]"
        ),
        "kernel": platform.release(),
        "compiler": _compiler(),
        "load_average_at_start": os.getloadavg()[0],
        "commit": _revision(repository),
    }
