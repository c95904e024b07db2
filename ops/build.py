"""Finds the op library that fits the installed TensorFlow, or compiles it.

A library fits one TensorFlow version only (its C++ ABI changes with every release), so its file is
named after that version and after a hash of all that went into it:
`ep_ops-tf2.15.1-0123456789ab.so`. `library_path` looks beside this file first (a wheel or `make
ops` puts it there), then in `$ESTIMATOR_PLUGIN_CACHE` or `~/.cache/estimator_plugin`, and compiles
into the latter when neither has it. Needs nothing but Python, TensorFlow and a C++ compiler;
setup.py loads this file by path.
"""

import argparse
import collections
import contextlib
import fcntl
import glob
import hashlib
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from concurrent import futures

_HERE = os.path.dirname(os.path.abspath(__file__))
_JOBS = 2  # The kernels, one file, take about as long as the whole core.
# NDEBUG must match TensorFlow's release build: its reference counts abort the process otherwise.
# No fast-math: results must not depend on the compiler's mood. The three -f flags only give up
# errno, floating-point traps and contraction, which would differ between machines.
_FLAGS = ["-O3", "-DNDEBUG", "-fPIC", "-Wall"]
_FLAGS += ["-fno-math-errno", "-fno-trapping-math", "-ffp-contract=off"]

# What TensorFlow asks of code that joins it: include and link hold paths of this installation,
# standard and defines are the same for every installation of the version.
Target = collections.namedtuple("Target", "version standard include defines link")


class BuildError(RuntimeError):
    """The op library is missing and could not be compiled; the message says what to do."""


def tensorflow_target():
    """The `Target` of the TensorFlow that this Python imports."""
    import tensorflow as tf

    flags = tf.sysconfig.get_compile_flags()
    standard = next((f.split("=")[1] for f in flags if re.match("--?std=", f)), None)
    if standard is None:
        # Must be the standard TensorFlow was built with (absl::string_view changes with it), which
        # releases before 2.12 do not report.
        release = tuple(int(part) for part in tf.__version__.split(".")[:2])
        standard = "c++17" if release >= (2, 10) else "c++14"
    return Target(
        version=tf.__version__,
        standard=standard,
        include=[f[2:] for f in flags if f.startswith("-I")],
        defines=[f for f in flags if f.startswith("-D")],
        link=tf.sysconfig.get_link_flags(),
    )


def source_files():
    """The C++ files of the library, relative to this directory, in a fixed order."""
    found = []
    for part in ("core", "kernels"):
        for folder, _, names in os.walk(os.path.join(_HERE, part)):
            found += [os.path.join(folder, n) for n in names if n.endswith((".cc", ".h"))]
    return sorted(os.path.relpath(path, _HERE) for path in found)


def library_name(target):
    """The file name of the library for `target` and the sources as they are now."""
    return "ep_ops-tf%s-%s.so" % (target.version, _hash(source_files(), target))


def library_path():
    """The path of the op library for the installed TensorFlow, compiled now if there is none.

    Raises:
      BuildError: there is no library and it could not be compiled.
    """
    target = tensorflow_target()
    name = library_name(target)
    cache = _cache_directory()
    for directory in (_HERE, cache):
        path = os.path.join(directory, name)
        if os.path.exists(path):
            return path
    return build(cache, target)


def build(directory, target=None, objects=None):
    """Compiles the library into `directory` unless it is there; returns its path.

    Any number of processes may call it at once: one compiles, the others wait for it.

    Args:
      directory: where the library goes; made if missing.
      target: a `Target`; default: the installed TensorFlow.
      objects: a directory that keeps object files, so that the next build compiles only what
        changed; default: none are kept.

    Raises:
      BuildError: no compiler, a compilation that failed, or a directory that cannot be written.
    """
    target = target or tensorflow_target()
    directory = os.path.abspath(directory)
    path = os.path.join(directory, library_name(target))
    try:
        os.makedirs(directory, exist_ok=True)
        with _locked(os.path.join(directory, "ep_ops.lock")):
            if not os.path.exists(path):
                _compile_and_link(path, target, objects)
    except OSError as error:
        raise BuildError(
            "cannot write the op library to %s (%s); set ESTIMATOR_PLUGIN_CACHE to a directory "
            "that can be written" % (directory, error)
        ) from error
    return path


def place(library, directory):
    """Copies a library to `directory`, in place of older ones for the same TensorFlow version."""
    path = os.path.join(directory, os.path.basename(library))
    if not os.path.exists(path):
        with tempfile.TemporaryDirectory(prefix="ep_ops-", dir=directory) as scratch:
            os.replace(shutil.copy(library, scratch), path)
    for other in glob.glob(path.rsplit("-", 1)[0] + "-*.so"):
        if other != path:
            os.remove(other)
    return path


def _compile_and_link(path, target, objects):
    compiler = _compiler(target)
    with tempfile.TemporaryDirectory(prefix="ep_ops-", dir=os.path.dirname(path)) as scratch:
        units = _units(target, os.path.abspath(objects or scratch))
        for folder in {os.path.dirname(unit.object) for unit in units}:
            os.makedirs(folder, exist_ok=True)
        with futures.ThreadPoolExecutor(_JOBS) as pool:
            for job in [pool.submit(_compile, compiler, unit, scratch) for unit in units]:
                job.result()
        library = os.path.join(scratch, "ep_ops.so")
        command = compiler + ["-shared", "-s", "-o", library] + [unit.object for unit in units]
        _run(command + target.link)
        os.replace(library, path)
    if objects:
        _forget_others(os.path.dirname(units[0].object), {unit.object for unit in units})


_Unit = collections.namedtuple("_Unit", "files flags object")


def _units(target, objects):
    """What is compiled on its own: every core file, and all kernels together.

    TensorFlow's headers take some ten seconds to parse, so the kernels share one parse. The core
    does not see them at all.
    """
    names = source_files()
    core = [n for n in names if n.startswith("core" + os.sep)]
    kernels = [n for n in names if n not in core and n.endswith(".cc")]
    headers = [n for n in names if n.endswith(".h")]
    core_headers = [n for n in headers if n in core]
    common = _FLAGS + ["-std=" + target.standard] + target.defines
    common += ["-iquote", _HERE, "-iquote", os.path.join(_HERE, "core")]
    kernel_flags = [part for path in target.include for part in ("-isystem", path)]
    kernel_flags.append("-Wno-subobject-linkage")  # True of every file that another one includes.

    def unit(stem, files, seen_headers, flags):
        digest = _hash(files + seen_headers, target)
        place = os.path.join(objects, "tf" + target.version, "%s-%s.o" % (stem, digest))
        return _Unit(files, flags, place)

    units = [unit("kernels", kernels, headers, common + kernel_flags)] if kernels else []
    for name in core:
        if name.endswith(".cc"):
            units.append(unit(name.replace(os.sep, "-"), [name], core_headers, common))
    return units


def _compile(compiler, unit, scratch):
    if os.path.exists(unit.object):
        return
    finished = os.path.join(scratch, os.path.basename(unit.object) + ".part")
    command = compiler + unit.flags + ["-o", finished, "-c"]
    doing = "compiling %s of" % ", ".join(unit.files)
    if len(unit.files) == 1:
        _run(command + unit.files, doing)
    else:
        text = "".join('#include "%s"\n' % name for name in unit.files)
        _run(command + ["-x", "c++", "-"], doing, text)
    os.replace(finished, unit.object)


def _run(command, doing="linking", text=""):
    result = subprocess.run(
        command,
        input=text,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        cwd=_HERE,
    )
    if result.returncode != 0:
        raise BuildError(
            "%s the op library failed (exit code %d):\n%s\n%s"
            % (doing, result.returncode, " ".join(map(shlex.quote, command)), result.stdout)
        )
    sys.stderr.write(result.stdout)  # Warnings.


def _compiler(target):
    """The command that starts the C++ compiler, as a list."""
    command = shlex.split(os.environ.get("CXX", "")) or ["g++"]
    if shutil.which(command[0]):
        return command
    message = (
        "the op library has to be compiled for TensorFlow %s, and there is no C++ compiler %r; "
        "install one (Debian, Ubuntu: apt-get install g++; Fedora, RHEL: dnf install gcc-c++) or "
        "name one in the environment variable CXX" % (target.version, command[0])
    )
    others = sorted(glob.glob(os.path.join(_HERE, "ep_ops-tf*.so")))
    if others:
        built_for = [re.match(r"ep_ops-tf(.+)-", os.path.basename(o)).group(1) for o in others]
        message += (
            ". The library in this package was built for TensorFlow %s (%s): with that version and "
            "the package's sources unchanged no compiler is needed"
            % (" and ".join(built_for), ", ".join(others))
        )
    raise BuildError(message)


def _hash(names, target):
    """A digest of files and of everything in `target` that does not depend on where things lie."""
    digest = hashlib.sha256(repr((target.standard, target.defines, _FLAGS)).encode())
    for name in names:
        with open(os.path.join(_HERE, name), "rb") as source:
            content = source.read()
        digest.update(("%s %d\n" % (name, len(content))).encode() + content)
    return digest.hexdigest()[:12]


def _cache_directory():
    return os.environ.get("ESTIMATOR_PLUGIN_CACHE") or os.path.join(
        os.path.expanduser("~"), ".cache", "estimator_plugin"
    )


@contextlib.contextmanager
def _locked(path):
    with open(path, "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _forget_others(directory, kept):
    for path in glob.glob(os.path.join(directory, "*")):
        if path not in kept:
            os.remove(path)


def main():
    """`python ops/build.py`: builds the library and places it beside this file."""
    # As a script this file's directory leads the module path, where TensorFlow would find our
    # modules under names of its own.
    sys.path[:] = [p for p in sys.path if os.path.abspath(p) != _HERE]
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--directory", default=_cache_directory(), help="where to build")
    parser.add_argument("--objects", help="keep object files in this directory")
    arguments = parser.parse_args()
    try:
        library = build(arguments.directory, objects=arguments.objects)
    except BuildError as error:
        sys.exit(str(error))
    print(place(library, _HERE))


if __name__ == "__main__":
    main()
