"""The reader of a table's meta text."""

import pytest

import estimator_plugin as ep

TEXT = """format_version=1
hash_version=1
key_dtype=int64
value_dtype=float32
num_buckets=64
dim=16
slots=m:0,v:0.5
initializer=normal
initializer_arguments=0,0.1
seed=18446744073709551615
save_id=12
parent=model.ckpt-7
parent_id=11
"""


def test_fields():
    meta = ep.checkpoint.parse_meta(TEXT)
    assert meta.format_version == 1 and meta.num_buckets == 64 and meta.dim == 16
    assert meta.slots == (("m", 0.0), ("v", 0.5))
    assert meta.initializer_arguments == (0.0, 0.1)
    assert meta.seed == 2**64 - 1
    assert (meta.save_id, meta.parent, meta.parent_id) == (12, "model.ckpt-7", 11)
    assert ep.checkpoint.parse_meta(TEXT.encode()) == meta


def test_admission():
    meta = ep.checkpoint.parse_meta(TEXT)
    assert (meta.clock, meta.access_threshold, meta.configured_threshold, meta.frozen) == (
        -1,
        -1,
        -1,
        0,
    )
    lines = "clock=1700000000\naccess_threshold=5\nconfigured_threshold=3\nfrozen=1\n"
    meta = ep.checkpoint.parse_meta(TEXT + lines)
    assert (meta.clock, meta.access_threshold) == (1700000000, 5)
    assert (meta.configured_threshold, meta.frozen) == (3, 1)


def test_no_slots_and_no_arguments():
    text = TEXT.replace("m:0,v:0.5", "").replace("=0,0.1", "=")
    meta = ep.checkpoint.parse_meta(text)
    assert meta.slots == () and meta.initializer_arguments == ()


def test_fields_of_later_minor_additions_are_left_out():
    assert ep.checkpoint.parse_meta(TEXT + "colour=green\n").dim == 16


@pytest.mark.parametrize(
    "text, wanted",
    [
        ("", "no field format_version"),
        ("hello", "line without '='"),
        (TEXT.replace("dim=16\n", ""), "no field dim"),
        (TEXT.replace("format_version=1", "format_version=2"), "format 2; this version reads"),
        (TEXT.replace("dim=16", "dim=many"), "many"),
        (TEXT.replace("m:0", "m"), "slot without initial value: 'm'"),
    ],
)
def test_what_is_no_meta(text, wanted):
    with pytest.raises(ValueError, match=wanted):
        ep.checkpoint.parse_meta(text)
