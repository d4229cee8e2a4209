"""Steps of a plan that change the controllers: each is a question of the quorum's own model (`kraft-quorum`).

`replace-controller-disk = ID` brings a controller back with an empty directory and, with kraft.version=1, removes it under its
old directory and adds it again; `add-voter = ID` and `remove-voter = ID` are one change of voters (KIP-853).  A partition's
phases rest on decisions that stay, which is what is decided here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from neverlost.checker.engine.engines.explore import explore
from neverlost.checker.engine.outcome import Outcome
from neverlost.checker.engine.search.options import Options, Reporter
from neverlost.model.kernel import Action
from neverlost.model.protocols.kraft_quorum import MODEL as QUORUM
from neverlost.model.system import System, bind
from neverlost.specs.configuration.keys import configuration
from neverlost.specs.errors import InputError, quote
from neverlost.specs.properties import properties

REPLACE, ADD, REMOVE = CHANGES = ("replace-controller-disk", "add-voter", "remove-voter")
VOTERS, KRAFT_VERSION = "voters", "kraft.version"
MOST_STATES = 6_000_000
"""A search of more is given up: its step is not decided."""

MOST_ELECTIONS = 2

LOST_METADATA = "what is lost is committed metadata, and records with it unless min.insync.replicas is every replica"


@dataclass(frozen=True)
class ControllerStep:
    """A step of a plan that adds or removes a controller, or replaces its disk: its number, words and change, and the system of
    the quorum while it is under way."""

    number: int
    says: str
    changes: Mapping[str, str]
    system: System

    @property
    def assumed(self) -> str:
        """What the answer assumes, in words: which faults of controllers there may be, and how many elections at most."""
        loss = "one loses its directory, once" if REPLACE in self.changes else "none loses data"
        kills = "none stops" if ADD in self.changes else "any may be killed"
        return f"of the controllers {loss}, {kills}, and there are {MOST_ELECTIONS} elections at most"


class PlannedQuorum:
    """The voters as the steps of a plan change them.  Errors: `InputError` for voters that are not distinct ids, and for a
    kraft.version that is not 0 or 1."""

    def __init__(self, voters: Any, version: Any, path: str) -> None:
        self._voters = [str(each) for each in voters] if isinstance(voters, list) else [str(voters)]
        if not all(map(_is_id, self._voters)) or len(set(self._voters)) < len(self._voters):
            raise InputError(
                f"bad value {quote(str(voters))} for {VOTERS} in {path}: write the controllers' ids, such as [1, 2, 3]"
            )
        if str(version) not in ("0", "1"):
            raise InputError(f"bad value {quote(str(version))} for {KRAFT_VERSION} in {path}: use 0 or 1")
        self._has_directories = str(version) == "1"

    def take(self, number: int, says: str, wanted: Mapping[str, Any], where: str) -> ControllerStep:
        """Return the step that `wanted` asks for, and change the voters as it does; `InputError` where that is not possible."""
        if len(wanted) > 1:
            raise InputError(f"{where} changes {' and '.join(wanted)}: make each a step of its own")
        ((key, value),) = wanted.items()
        node, many = str(value), len(self._voters)
        if not many:
            raise InputError(
                f"{where} changes the controllers, which are not named: add {VOTERS} = [1, 2, 3] above the first step"
            )
        if key != REPLACE and not self._has_directories:
            raise InputError(f"{where} changes the voters, which takes {KRAFT_VERSION} = 1 (KIP-853, Kafka 3.9); add it above")
        if not _is_id(node) or (node in self._voters) == (key == ADD):
            what = "a controller that does not vote yet" if key == ADD else "one that votes"
            raise InputError(f"bad value {quote(node)} for {key} in {where}: name {what} (voters: {', '.join(self._voters)})")
        if key == REMOVE and many == 1:
            raise InputError(f"{where} removes the last voter: add another first")
        place = many if key == ADD else 0
        if key == ADD:
            self._voters.append(node)
        elif key == REMOVE:
            self._voters.remove(node)
        return ControllerStep(number, says or f"{key} {node}", {key: node}, self._system(key, many, place, where))

    def _system(self, key: str, voters: int, place: int, where: str) -> System:
        """Return the quorum in which, as `key` says, only the controller at `place` is added, or removed, or loses its disk."""
        changes = {REPLACE: 2 * self._has_directories}.get(key, 1)
        allowed: dict[str, Callable[..., bool]] = {
            "controller_lose_disk": lambda broker: broker == place,
            "leader_remove_voter": lambda candidate, change, **_: key != ADD and candidate == place and change == 0,
            "leader_add_voter": lambda leader, candidate, change: (
                key != REMOVE and leader != candidate == place and change == changes - 1
            ),
        }
        by_name: dict[str, Action] = {each.name: each for each in QUORUM.actions}
        swaps = {name: replace(by_name[name], where=is_meant) for name, is_meant in allowed.items()}
        model = QUORUM.differing(QUORUM.name, QUORUM.summary, replacing=swaps)
        asked = {
            "replication.factor": voters,
            "quorum.observers": int(key == ADD),
            "bounds.max_leader_epoch": MOST_ELECTIONS,
            "bounds.voter_changes": changes,
            "faults.kill": 0 if key == ADD else "any",  # with an observer stops are too many states
            "faults.disk_loss": int(key == REPLACE),
            "mechanism.directory-ids": "on" if self._has_directories else "off",
        }
        return bind(model, configuration(model, {name: (str(each), where) for name, each in asked.items()}))


def _is_id(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 11


def decide_controller_step(step: ControllerStep, options: Options, reporter: Reporter | None = None) -> Outcome:
    """Return the outcome of a search for a step's system: does the quorum keep all that it has acknowledged?"""
    limits = replace(options.limits, states=min(options.limits.states or MOST_STATES, MOST_STATES))
    apart = replace(options, limits=limits, symmetry=False, orbits=False)
    return explore(step.system, [properties()["quorum-keeps-acked"]], apart, reporter)
