"""Prints the directory of GoogleTest's sources (the one that holds include/ and src/).

Takes the first there is: what the system has, what an earlier run unpacked, else Debian's
libgtest-dev through apt-get.
"""

import os
import subprocess
import sys

_SYSTEM = ("/usr/src/googletest/googletest", "/usr/src/gtest")


def find_in_system():
    """The system's sources, or None."""
    for directory in _SYSTEM:
        if os.path.exists(os.path.join(directory, "src", "gtest-all.cc")):
            return directory
    return None


def install():
    """Installs Debian's package; returns the sources' directory, or None."""
    for command in (["apt-get", "update"], ["apt-get", "install", "-y", "libgtest-dev"]):
        subprocess.run(command, stdout=sys.stderr, check=True)
    return find_in_system()


def main():
    print(find_in_system() or install())


if __name__ == "__main__":
    main()
