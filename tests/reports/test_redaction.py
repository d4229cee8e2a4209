"""What a bundle keeps of the user's files: never a password; with --redact no name either; and where levels may not be kept."""

from __future__ import annotations

from pathlib import Path

import pytest

import neverlost
from neverlost.reports.bundle.question import SecretsWarning
from neverlost.reports.bundle.redaction import without_secrets
from neverlost.reports.documents.measurements import is_plain
from neverlost.reports.questions.verify.verify import open_bundle, verify_bundle
from tests.support import forger
from tests.tools.publish.bundles import PLACE

SERVER = """broker.id=1
listeners=SSL://10.1.2.3:9093
ssl.key.password=hunter2
sasl.jaas.config=org.apache.kafka.PlainLoginModule required \\
  username="alice" \\
  password="hunter2";
min.insync.replicas=1
"""
KEYS = {"metadata.version": "3.9-IV0", "acks": "all", "faults.crash": 1, "bounds.records": 1}


def asked(place: Path, redact: bool) -> dict[str, bytes]:
    """The files of a bundle about two topics and a broker's own file."""
    (place / "payments7.txt").write_text(forger.DESCRIBED.replace("orders", "payments7"))
    (place / "server.properties").write_text(SERVER)
    neverlost.check(
        KEYS,
        describe=place / "payments7.txt",
        server_properties=place / "server.properties",
        kafka_version="3.9",
        properties=["acked-never-lost"],
        advise=False,
        redact=redact,
        out=place / "bundle",
    )
    assert verify_bundle(str(place / "bundle")).is_complete
    return dict(open_bundle(str(place / "bundle")))


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("ssl.key.password=x y\\\nz\nnext=1\n", "ssl.key.password=redacted\nnext=1\n"),
        ('{"sasl.jaas.config": "a \\" b", "acks": "all"}', '{"sasl.jaas.config": "redacted", "acks": "all"}'),
        ("- client_secret: 'a'\npassword=\nx=1\n", "- client_secret: 'redacted'\npassword=\nx=1\n"),
    ],
)
def test_the_value_of_a_secret_setting_is_replaced(given: str, kept: str) -> None:
    assert without_secrets({"f": given.encode(), "binary": b"\xffpassword=1"}) == {
        "f": kept.encode(),
        "binary": b"\xffpassword=1",
    }


def test_no_password_is_kept_and_that_is_said(tmp_path: Path) -> None:
    with pytest.warns(SecretsWarning, match="values of secret settings"):
        files = asked(tmp_path, redact=False)
    assert not [name for name, content in files.items() if b"hunter2" in content]


def test_a_redacted_bundle_names_no_one_and_redaction_undone_is_refused(tmp_path: Path) -> None:
    files = asked(tmp_path, redact=True)
    private = (b"payments7", b"audit", b"hunter2", b"alice", b"10.1.2.3")
    assert not [(name, each) for name, content in files.items() for each in private if each in content]
    assert b"topic-1" in files["report.md"] and b"topic-2" in files["report.md"] and b"topic-1" in files["question/01"]
    undone = forger.sealed(files, **{"question/01": files["question/01"].replace(b"topic-1", b"payments7")})
    assert forger.refused(undone) is not None


def test_levels_are_not_kept_among_results(tmp_path: Path) -> None:
    with pytest.raises(neverlost.InputError, match="is inside --out"):
        neverlost.check({"model": "kip-320"}, state_dir=str(tmp_path / "out" / "states"), out=tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_proof_that_is_not_derived_in_time_is_verified_in_part() -> None:
    """A slow machine refuses nothing that is honest."""
    found = verify_bundle(str(PLACE / "induction"), seconds=0.01)
    assert found.verdict == "partly verified" and any("proofs" in each for each in found.unchecked)
    assert is_plain({"before": {"leader": -1}}) and not is_plain({"before": float("nan")})
