"""Importing this module installs the import layer; see `estimator_plugin.compat`.

    import estimator_plugin.compat.mx_rec
    from mx_rec.core.embedding import create_table, sparse_lookup

Once it is uninstalled, `estimator_plugin.compat.install()` installs it again.
"""

from .finder import install

install()
