"""FeatureSpec: arguments and errors."""

import pytest

import estimator_plugin as ep
from estimator_plugin.thresholds import NONE, Thresholds

INT32_MAX = 2**31 - 1


def test_defaults():
    spec = ep.FeatureSpec("user.ids")
    assert (spec.table_name, spec.index_key) == ("userids", "user.ids")
    assert (spec.thresholds, spec.is_timestamp) == (NONE, False)


def test_names_are_numbered():
    first, second = ep.FeatureSpec("ids"), ep.FeatureSpec("ids")
    assert first.name.startswith("ids_") and second.name.startswith("ids_")
    assert int(second.name[4:]) == int(first.name[4:]) + 1


@pytest.mark.parametrize(
    "access, eviction, wanted",
    [
        (None, None, NONE),
        (-1, -1, NONE),
        (-1, None, NONE),
        (-1, 0, NONE),
        (0, None, Thresholds(0, None, 1)),
        (0, 0, Thresholds(0, None, 1)),
        (0, -1, Thresholds(0, None, 1)),
        (3, None, Thresholds(3, None, 1)),
        (3, 0, Thresholds(3, None, 1)),
        (3, -1, Thresholds(3, None, 1)),
        (3, 60, Thresholds(3, 60, 1)),
        (0, 60, Thresholds(0, 60, 1)),
        (None, 60, Thresholds(None, 60, 1)),
        (-1, 60, Thresholds(None, 60, 1)),
        (INT32_MAX, INT32_MAX, Thresholds(INT32_MAX, INT32_MAX, 1)),
    ],
)
def test_what_thresholds_switch_on(access, eviction, wanted):
    spec = ep.FeatureSpec("ids", access_threshold=access, eviction_threshold=eviction)
    assert spec.thresholds == wanted
    if wanted != NONE:
        spec = ep.FeatureSpec(
            "ids", access_threshold=access, eviction_threshold=eviction, faae_coefficient=3
        )
        assert spec.thresholds == wanted._replace(coefficient=3)


@pytest.mark.parametrize("index_key", [0, 255, "key", "k" * 255])
def test_index_keys(index_key):
    assert ep.FeatureSpec("ids", index_key=index_key).index_key == index_key


@pytest.mark.parametrize(
    "argument, value, wanted",
    [
        ("table_name", "", "a string of 1 to 255"),
        ("table_name", "_", "a name that begins with"),
        ("table_name", 3, "a string of 1 to 255"),
        ("index_key", -1, "from 0 to 255"),
        ("index_key", 256, "from 0 to 255"),
        ("index_key", "", "a string of 1 to 255"),
        ("index_key", 1.0, "a string or an int"),
        ("index_key", True, "a string or an int"),
        ("access_threshold", -2, "from -1 to 2147483647"),
        ("access_threshold", 1.5, "an int"),
        ("access_threshold", "3", "an int"),
        ("access_threshold", True, "an int"),
        ("access_threshold", INT32_MAX + 1, "from -1 to 2147483647"),
        ("eviction_threshold", -2, "from -1 to 2147483647"),
        ("eviction_threshold", 0.5, "an int"),
        ("is_timestamp", 1, "True or False"),
        ("batch_size", 0, "from 1"),
        ("feat_count", 0, "from 1"),
        ("faae_coefficient", 0, "from 1"),
        ("faae_coefficient", 1.5, "an int"),
    ],
)
def test_values_out_of_range(argument, value, wanted):
    with pytest.raises(ValueError, match="FeatureSpec 'ids': %s must be .*%s" % (argument, wanted)):
        ep.FeatureSpec("ids", **{argument: value})


@pytest.mark.parametrize("name", ["", "n" * 256, None, 3])
def test_names_out_of_range(name):
    with pytest.raises(ValueError, match="FeatureSpec: name must be a string of 1 to 255"):
        ep.FeatureSpec(name)


def test_a_timestamp_has_no_thresholds():
    with pytest.raises(ValueError, match="'timestamp': a timestamp has no thresholds"):
        ep.FeatureSpec("timestamp", is_timestamp=True, access_threshold=1)
