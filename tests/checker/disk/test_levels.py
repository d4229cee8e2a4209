"""Levels on storage: what is written comes back, and nothing that was touched since is believed."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from neverlost.checker.engine.storage import sorted_states as keyed
from neverlost.checker.engine.storage.levels import PACKED, Level, StateFile, Store, Violation, describe_search
from neverlost.model.protocols.kip101 import MODEL as KIP_101
from neverlost.model.protocols.kip320 import MODEL as KIP_320
from neverlost.model.system import bind
from neverlost.specs.errors import InputError
from neverlost.specs.properties import properties

STRONG, WEAK = properties()["strong-isr"], properties()["weak-isr"]
CONFIGURATION = {"replication.factor": 2, "bounds.records": 2, "bounds.log_size": 2, "bounds.max_leader_epoch": 1}


def random_states(seed: int, rows: int, words: int = 2, bits: int = 64) -> keyed.Keyed:
    generator = np.random.default_rng(seed)
    return generator.integers(0, 1 << bits, (words, rows), dtype=np.uint64, endpoint=False)


def as_set(states: keyed.Keyed) -> set[tuple[int, ...]]:
    return set(zip(*(word.tolist() for word in states), strict=True))


@pytest.mark.parametrize("words", [1, 2, 3])
def test_keys_are_invertible(words: int) -> None:
    states = random_states(1, 70_000, words)
    assert (keyed.make_packed(keyed.make_keyed(states)) == states).all()


def test_keys_spread_neighbouring_states_evenly() -> None:
    states = np.array([np.arange(65_536) % 256, np.arange(65_536) // 256], dtype=np.uint64)
    parts = np.bincount(keyed.make_keyed(states)[0] >> np.uint64(60), minlength=16)
    assert parts.min() > 3_800 and parts.max() < 4_400


@pytest.mark.parametrize("rows", [0, 1, 2, 257, 5_000])
@pytest.mark.parametrize("bits", [3, 64])
def test_sorted_distinct_is_the_set_in_order(rows: int, bits: int) -> None:
    states = random_states(2, rows, 2, bits)
    found = keyed.sort_distinct(states)
    rows_found = list(zip(*(word.tolist() for word in found), strict=True))
    assert rows_found == sorted(as_set(states))


def test_states_with_equal_keys_stay_different() -> None:
    """Keys that collide in all 64 bits, or in the bits that survive the tagging, are distinguished by the other words."""
    states = random_states(3, 4_000, 3, 2)
    states[0] += np.uint64(1 << 63)
    found = keyed.sort_distinct(states)
    assert list(zip(*(word.tolist() for word in found), strict=True)) == sorted(as_set(states))
    half = keyed.sort_distinct(states[:, ::2])
    rest = keyed.subtract_run(found, half)
    assert as_set(rest) == as_set(states) - as_set(half)
    assert as_set(keyed.merge_runs([rest, half])) == as_set(states)
    assert keyed.merge_runs([rest, half]).shape == found.shape


def test_without_and_merged_agree_with_sets() -> None:
    left, right = (keyed.sort_distinct(random_states(seed, 900, 2, 5)) for seed in (4, 5))
    assert as_set(keyed.subtract_run(left, right)) == as_set(left) - as_set(right)
    both = keyed.merge_runs([left, right])
    assert list(zip(*(word.tolist() for word in both), strict=True)) == sorted(as_set(left) | as_set(right))


@pytest.mark.parametrize("parts", [1, 2, 3, 8])
def test_every_key_has_one_owner(parts: int) -> None:
    states = keyed.sort_distinct(random_states(6, 1_000))
    shares = [keyed.slice_range(states, *keyed.compute_key_range(part, parts)) for part in range(parts)]
    assert (np.concatenate(shares, axis=1) == states).all()


def meta(words: int = 2) -> dict[str, object]:
    return describe_search(bind(KIP_320, CONFIGURATION), [STRONG]) | {"words": words}


def filled(location: str | Path, levels: int = 3) -> Store:
    """A store with some committed levels of random states."""
    store = Store.create(location, meta())
    for depth in range(levels):
        states = keyed.sort_distinct(random_states(depth, 100))
        file = store.write_level(depth, states)
        store.commit(Level(depth, (file,), 120, {"leader_write": 7}, (Violation("strong-isr", 0, (1, 2)),), (file,)))
    return store


def test_levels_come_back(tmp_path: Path) -> None:
    written = filled(tmp_path / "s").levels()
    store = Store.open(tmp_path / "s", meta())
    assert store.levels() == written
    assert [level.rows for level in written] == [100, 100, 100]
    assert written[1].violations == (Violation("strong-isr", 0, (1, 2)),)
    (states,) = store.level(1)
    assert as_set(states) == as_set(keyed.make_packed(random_states(1, 100)))


def test_packed_files_keep_their_order(tmp_path: Path) -> None:
    store = Store.create(tmp_path / "s", meta(3))
    states = random_states(9, 10, 3)
    store.commit(Level(0, (store.write_level(0, states, PACKED),)))
    (found,) = store.level(0)
    assert (found == states).all()


def test_an_empty_level_ends_a_search(tmp_path: Path) -> None:
    store = filled(tmp_path / "s")
    assert not store.levels()[-1].is_last
    store.commit(Level(3, generated=5))
    assert store.levels()[-1].is_last


def test_a_taken_directory_is_refused(tmp_path: Path) -> None:
    filled(tmp_path / "s")
    with pytest.raises(InputError, match="already holds a search; add --resume"):
        Store.create(tmp_path / "s", meta())


@pytest.mark.parametrize("name", ["notes.txt", "src/program.py", "settings.json", "level-0000.txt"])
def test_a_directory_with_other_files_is_refused_and_keeps_them(tmp_path: Path, name: str) -> None:
    """A search deletes what it did not finish: never what somebody else wrote."""
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text("mine")
    with pytest.raises(InputError, match=f"has other files, such as '{name}': name an empty one"):
        Store.create(tmp_path, meta())
    assert (tmp_path / name).read_text() == "mine" and not (tmp_path / "meta.json").exists()


def test_a_directory_of_an_earlier_version_is_refused_with_the_remedy(tmp_path: Path) -> None:
    filled(tmp_path / "s")
    place = tmp_path / "s" / "meta.json"
    place.chmod(0o644)
    place.write_text(place.read_text().replace("neverlost.levels/3", "neverlost.levels/2"))
    with pytest.raises(InputError) as refusal:
        Store.open(tmp_path / "s", meta())
    assert str(refusal.value) == (
        f"{place} has format 'neverlost.levels/2', and this version reads 'neverlost.levels/3';"
        " restore it, or delete the state directory and start again"
    )


def test_nothing_to_resume(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no stored search in .*s' \(meta.json is missing\)"):
        Store.open(tmp_path / "s", meta())


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("model", describe_search(bind(KIP_101, CONFIGURATION), [STRONG])),
        ("configurations", describe_search(bind(KIP_320, CONFIGURATION | {"bounds.max_leader_epoch": 2}), [STRONG])),
        ("disabled", describe_search(bind(KIP_320, CONFIGURATION, disabled=[("follower_fetch", "leader has more")]), [STRONG])),
        ("properties", describe_search(bind(KIP_320, CONFIGURATION), [WEAK])),
        ("symmetry", describe_search(bind(KIP_320, CONFIGURATION), [STRONG], symmetry=True)),
        ("model_digest", meta() | {"model_digest": "sha256:0"}),
        ("property_digests", meta() | {"property_digests": ["sha256:0"]}),
    ],
)
def test_a_foreign_store_is_named(tmp_path: Path, name: str, expected: dict[str, object]) -> None:
    filled(tmp_path / "s")
    with pytest.raises(InputError, match=f"was made for another {name}: it holds"):
        Store.open(tmp_path / "s", expected | {"words": 2})


def only_file(store: Store, depth: int) -> StateFile:
    (file,) = store.levels()[depth].files
    return file


@pytest.mark.parametrize("damage", ["flip", "truncate", "grow", "empty", "swap", "remove", "foreign"])
def test_a_damaged_state_file_is_named(tmp_path: Path, damage: str) -> None:
    store = filled(tmp_path / "s")
    file = only_file(store, 1)
    path = tmp_path / "s" / file.name
    content = path.read_bytes()
    if damage == "remove":
        path.unlink()
    elif damage == "swap":
        path.write_bytes((tmp_path / "s" / only_file(store, 2).name).read_bytes())
    elif damage == "foreign":
        path.write_bytes(filled(tmp_path / "other").files.read(only_file(Store.attach(tmp_path / "other"), 1).name)[:-8])
    else:
        flipped = bytes([*content[:-3], content[-3] ^ 1, *content[-2:]])
        path.write_bytes({"flip": flipped, "truncate": content[:-8], "grow": content + b"\0", "empty": b""}[damage])
    with pytest.raises(InputError, match=f"(damaged|missing) state file .*{file.name}"):
        Store.open(tmp_path / "s", meta()).check()


def test_a_state_file_of_another_search_is_named(tmp_path: Path) -> None:
    """Even when its digest was copied along with it."""
    file = Store.create(tmp_path / "a", meta()).write_level(0, random_states(1, 5))
    stranger = Store.create(tmp_path / "b", meta() | {"symmetry": True})
    target = tmp_path / "b" / file.name
    target.parent.mkdir(parents=True)
    target.write_bytes((tmp_path / "a" / file.name).read_bytes())
    with pytest.raises(InputError, match=f"{file.name} belongs to another search"):
        stranger.read(file)


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        ("count", "damaged .*level-0001.json: its checksum"),
        ("not json", "damaged .*level-0001.json: it is not JSON"),
        ("swap", "level-0001.json does not continue the level before it"),
        ("remove", "missing .*level-0001.json, but later levels exist"),
        ("foreign", "level-0001.json belongs to another search"),
    ],
)
def test_a_damaged_manifest_is_named(tmp_path: Path, damage: str, message: str) -> None:
    filled(tmp_path / "s")
    path = tmp_path / "s" / "level-0001.json"
    if damage == "count":
        path.write_text(json.dumps(json.loads(path.read_text()) | {"generated": 3}))
    elif damage == "not json":
        path.write_text(path.read_text()[:50])
    elif damage == "swap":
        other = path.with_name("level-0002.json")
        first, second = path.read_text(), other.read_text()
        path.write_text(second)
        other.write_text(first)
    elif damage == "foreign":
        other_store = Store.create(tmp_path / "t", meta() | {"symmetry": True})
        other_store.commit(Level(0))
        other_store.commit(Level(1))
        path.write_bytes((tmp_path / "t" / "level-0001.json").read_bytes())
    else:
        path.unlink()
    with pytest.raises(InputError, match=message):
        Store.open(tmp_path / "s", meta()).levels()


def test_two_searches_in_one_directory_are_noticed(tmp_path: Path) -> None:
    store = filled(tmp_path / "s")
    rival = Store.open(tmp_path / "s", meta())
    store.commit(Level(3))
    with pytest.raises(InputError, match="another search is writing to this state directory"):
        rival.commit(Level(3))


def test_uncommitted_files_are_discarded(tmp_path: Path) -> None:
    store = filled(tmp_path / "s")
    begun = store.write_level(3, random_states(9, 4))
    mine = {name: tmp_path / "s" / name for name in ("notes.txt", "src/program.py")}
    for each in mine.values():
        each.parent.mkdir(exist_ok=True)
        each.write_text("not a search's")
    (tmp_path / "s" / ".level-0003.json.5f").write_text("half a manifest")
    assert store.discard_uncommitted(store.levels()) == 2
    assert begun.name not in store.files.names() and {*mine} <= {*store.files.names()}
    store.check()
