"""Gets MovieLens-100K: three text files out of a pinned wheel on PyPI, read without installing it.

The ratings are GroupLens' (Harper and Konstan 2015, "The MovieLens Datasets"); the wheel `recbole`
ships them as tab-separated text. The wheel is fetched once, kept in a cache and checked against a
known checksum.
"""

import hashlib
import os
import subprocess
import sys
import tempfile
import zipfile

WHEEL = "recbole-1.2.1-py3-none-any.whl"
REQUIREMENT = "recbole==1.2.1"
SHA256 = "9c9948202011f37eb0a7c6768129313f00d6403ad221ec940d5e2d5d5f33a407"
FOLDER = "recbole/dataset_example/ml-100k/"
CACHE_VARIABLE = "ESTIMATOR_PLUGIN_CACHE"


class DownloadError(RuntimeError):
    """The data could not be had; the message says what to do."""


def cache_dir():
    """`$ESTIMATOR_PLUGIN_CACHE`, or ~/.cache/estimator_plugin."""
    default = os.path.join(os.path.expanduser("~"), ".cache", "estimator_plugin")
    return os.environ.get(CACHE_VARIABLE) or default


def read_tables():
    """The files of the data set, each a list of rows of strings, header first.

    Returns:
      A dict with the keys "inter", "item" and "user".

    Raises:
      DownloadError: the wheel is not in the cache and cannot be fetched, or its checksum is wrong.
    """
    path = fetch_wheel()
    with zipfile.ZipFile(path) as wheel:
        return {
            part: [
                line.split("\t")
                for line in wheel.read(FOLDER + "ml-100k." + part).decode("utf-8").splitlines()
            ]
            for part in ("inter", "item", "user")
        }


def fetch_wheel():
    """The path of the wheel in the cache; fetches it when it is not there."""
    path = os.path.join(cache_dir(), WHEEL)
    if not os.path.exists(path):
        os.makedirs(cache_dir(), exist_ok=True)
        _download(path)
    _check(path)
    return path


def _download(path):
    """Fetches into a folder beside `path`, then renames: a broken download is never seen."""
    with tempfile.TemporaryDirectory(dir=os.path.dirname(path)) as folder:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
        command += ["--only-binary", ":all:", "--dest", folder, REQUIREMENT]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        fetched = os.path.join(folder, WHEEL)
        if done.returncode != 0 or not os.path.exists(fetched):
            raise DownloadError(
                "could not download %s.\n%s\n%s"
                % (REQUIREMENT, done.stdout.decode("utf-8", "replace").strip(), _by_hand(path))
            )
        os.replace(fetched, path)


def _check(path):
    with open(path, "rb") as wheel:
        found = hashlib.sha256(wheel.read()).hexdigest()
    if found != SHA256:
        raise DownloadError(
            "%s has SHA-256 %s, expected %s.\nDelete it to fetch it again. %s"
            % (path, found, SHA256, _by_hand(path))
        )


def _by_hand(path):
    return (
        "Without a network: run `pip download --no-deps %s` where there is one and copy the file "
        "to %s (or to the folder that $%s names)." % (REQUIREMENT, path, CACHE_VARIABLE)
    )
