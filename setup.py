"""Installs estimator_plugin, with the op library compiled for the TensorFlow that is installed.

When TensorFlow cannot be imported here (pip's isolated builds), the package is installed without a
library, and the first use compiles one: see ops/build.py.
"""

import importlib.util
import os
import re

import setuptools
from setuptools.command.build_py import build_py

try:
    from setuptools.command.bdist_wheel import bdist_wheel
except ImportError:  # setuptools before 70.1
    from wheel.bdist_wheel import bdist_wheel

ROOT = os.path.dirname(os.path.abspath(__file__))
HAS_TENSORFLOW = importlib.util.find_spec("tensorflow") is not None
# These directories lie at the root and are installed inside the package.
INNER_PACKAGES = ("hooks", "ops", "model_fns")


def load_ops_build():
    """ops/build.py as a module, without the package around it, which wants TensorFlow."""
    spec = importlib.util.spec_from_file_location(
        "ep_ops_build", os.path.join(ROOT, "ops", "build.py")
    )
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


OPS_BUILD = load_ops_build()


def read(*path):
    with open(os.path.join(ROOT, *path), encoding="utf-8") as file:
        return file.read()


def packages():
    """The directory of every package, by its installed name."""
    found = {name: name.replace(".", "/") for name in find_packages("estimator_plugin")}
    for inner in INNER_PACKAGES:
        found.update({"estimator_plugin." + n: n.replace(".", "/") for n in find_packages(inner)})
    return found


def find_packages(top):
    return setuptools.find_packages(ROOT, include=[top, top + ".*"])


class BuildPy(build_py):
    """Adds the compiled library: to the build, or to ops/ when the install is editable."""

    def run(self):
        super().run()
        if HAS_TENSORFLOW:
            library = OPS_BUILD.build(os.path.join(ROOT, "build", "ops"))
            editable = getattr(self, "editable_mode", False)
            ops = "ops" if editable else os.path.join(self.build_lib, "estimator_plugin", "ops")
            OPS_BUILD.place(library, os.path.join(ROOT, ops))


class Distribution(setuptools.Distribution):
    """Belongs to one platform once it holds a library, although it has no extension modules."""

    def has_ext_modules(self):
        return HAS_TENSORFLOW


class AnyPythonWheel(bdist_wheel):
    """The library depends on the platform, not on the version of Python."""

    def get_tag(self):
        return "py3", "none", super().get_tag()[2]


setuptools.setup(
    name="estimator_plugin",
    version=re.search(r'__version__ = "(.+)"', read("estimator_plugin", "version.py")).group(1),
    description="Growing embedding tables, and models that train them, for tf.estimator",
    long_description=read("README.md"),
    long_description_content_type="text/markdown",
    license="Apache-2.0",
    classifiers=[
        "Development Status :: 3 - Alpha",
        "Intended Audience :: Developers",
        "Operating System :: POSIX :: Linux",
        "Programming Language :: C++",
        "Programming Language :: Python :: 3",
        "Topic :: Scientific/Engineering :: Artificial Intelligence",
    ],
    python_requires=">=3.7",
    packages=sorted(packages()),
    package_dir=packages(),
    entry_points={"console_scripts": ["estimator_plugin = estimator_plugin.cli.main:main"]},
    package_data={"estimator_plugin.ops": OPS_BUILD.source_files()},
    # TensorFlow itself is no hard requirement: hosts with an NPU pin their own.
    extras_require={
        "tf": ["tensorflow-cpu==2.15.1"],
        "parquet": ["pyarrow"],  # For `export --format parquet`.
        "test": ["pytest>=7", "pytest-xdist>=3", "pyarrow<20", "setuptools>=70.1,<81", "wheel"],
        "lint": ["ruff==0.17.6", "clang-format==23.1.5"],
    },
    distclass=Distribution,
    cmdclass={"build_py": BuildPy, "bdist_wheel": AnyPythonWheel},
    zip_safe=False,
)
