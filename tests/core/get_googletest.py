"""Prints the directory of GoogleTest's sources (the one that holds include/ and src/).

The first that is there: the system's; what an earlier run unpacked into build/; else the copy
inside a pinned source distribution on PyPI; else Debian's libgtest-dev, through apt-get. Debian's
comes last because it asks for root.

    python tests/core/get_googletest.py            # any of them
    python tests/core/get_googletest.py pypi       # one of: system, unpacked, pypi, apt
"""

import os
import subprocess
import sys
import tarfile
import tempfile

_SYSTEM = ("/usr/src/googletest/googletest", "/usr/src/gtest")
_UNPACKED = os.path.join("build", "googletest")
# Nothing of this package is used but the GoogleTest that it carries along.
_CARRIER = "xgrammar-0.1.17"
_SHA256 = "8f6cd7b3436482ad8c94b6cc93892a7f36381315c443e8e7f256f8d71c3efdee"


def find_in_system():
    for directory in _SYSTEM:
        if os.path.exists(os.path.join(directory, "src", "gtest-all.cc")):
            return directory
    return None


def find_unpacked():
    return _UNPACKED if os.path.isdir(_UNPACKED) else None


def unpack_from_pypi():
    prefix = _CARRIER + "/3rdparty/googletest/googletest/"
    os.makedirs("build", exist_ok=True)
    with tempfile.TemporaryDirectory(dir="build") as scratch:
        requirement = os.path.join(scratch, "requirement.txt")
        with open(requirement, "w") as file:
            file.write("%s --hash=sha256:%s\n" % (_CARRIER.replace("-", "=="), _SHA256))
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
        command += ["--no-binary", ":all:", "--require-hashes", "-r", requirement, "-d", scratch]
        if subprocess.run(command, stdout=sys.stderr).returncode != 0:
            return None
        with tarfile.open(os.path.join(scratch, _CARRIER + ".tar.gz")) as archive:
            members = [m for m in archive.getmembers() if m.name.startswith(prefix)]
            archive.extractall(scratch, members)
        os.rename(os.path.join(scratch, prefix), _UNPACKED)
    return _UNPACKED


def install_with_apt():
    for command in (["apt-get", "update"], ["apt-get", "install", "-y", "libgtest-dev"]):
        if subprocess.run(command, stdout=sys.stderr).returncode != 0:
            return None
    return find_in_system()


_WAYS = {
    "system": find_in_system,
    "unpacked": find_unpacked,
    "pypi": unpack_from_pypi,
    "apt": install_with_apt,
}


def main():
    for way in sys.argv[1:] or _WAYS:
        directory = _WAYS[way]()
        if directory:
            print(directory)
            return
    sys.exit("GoogleTest was not found; install it (Debian, Ubuntu: apt-get install libgtest-dev)")


if __name__ == "__main__":
    main()
