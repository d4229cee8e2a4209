"""A certificate authority for a test, and what it signs, as PEM files made by openssl."""

from __future__ import annotations

import subprocess
from pathlib import Path

AUTHORITY = "authority.pem"
NEW_KEY = ("-newkey", "rsa:2048", "-nodes")


def authority(folder: Path) -> Path:
    """A new authority; returns its certificate."""
    _openssl(folder, "req", "-x509", *NEW_KEY, "-keyout", "authority.key", "-out", AUTHORITY, "-subj", "/CN=authority")
    return folder / AUTHORITY


def signed(folder: Path, name: str) -> Path:
    """A key with its certificate in one file, for a name on loopback."""
    _openssl(folder, "req", *NEW_KEY, "-keyout", f"{name}.key", "-out", f"{name}.csr", "-subj", f"/CN={name}")
    (folder / "names.cnf").write_text("subjectAltName=IP:127.0.0.1,DNS:localhost\n")
    signing = ["-CA", AUTHORITY, "-CAkey", "authority.key", "-CAcreateserial", "-extfile", "names.cnf"]
    _openssl(folder, "x509", "-req", "-in", f"{name}.csr", "-out", f"{name}.crt", *signing)
    found = folder / f"{name}.pem"
    found.write_text((folder / f"{name}.key").read_text() + (folder / f"{name}.crt").read_text())
    return found


def _openssl(folder: Path, *arguments: str) -> None:
    subprocess.run(["openssl", *arguments], cwd=folder, check=True, capture_output=True, timeout=60)
