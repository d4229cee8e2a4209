"""Compares the model's voters with Kafka's own classes: QuorumState, its states of an epoch, and LeaderState.

Every step of the model that is about one voter is done to a QuorumState that stands where the model's voter stands, in the
order in which KafkaRaftClient does it.  Where the model refuses a vote the class has to refuse it too.  Voters that stand alike
are asked once; what is counted are the model's transitions.

A voter that stood as leader when it stopped is resigned.  From 4.0 on it enters a new epoch, without a vote, before it asks for
votes in the one after it (KafkaRaftClient.pollResigned): it is asked about from there.

With voters that change, each stands with the last set of its log; what AddVoterHandler and RemoveVoterHandler let pass is not
asked, since they need a whole KafkaRaftClient.

Source: KafkaRaftClient.handleVoteRequest, pollFollowerAsVoter, handleBeginQuorumEpochRequest, tryCompleteFetchRequest.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Iterator
from typing import Any

from neverlost.checker.kafka.conform.cases.comparison import Tally
from neverlost.checker.kafka.conform.java import jvm
from neverlost.model.interpreters import ints
from neverlost.model.protocols import models
from neverlost.model.protocols.kraft_quorum import epoch_of_entry, first_change_of
from neverlost.model.quorum.roles import CANDIDATE, LEADER
from neverlost.model.system import State, Step, System, bind
from neverlost.specs.configuration.choose import read_settings
from neverlost.specs.configuration.keys import configuration

PART = "quorum"
CHANGING = "replication.factor=2 quorum.observers=1 bounds.voter_changes=1 bounds.max_leader_epoch=1"
SHORT = ("bounds.max_leader_epoch=1 faults.kill=1", CHANGING)
LONG = (*SHORT, "bounds.max_leader_epoch=2", f"{CHANGING} faults.kill=1")
"""Three controllers and one record: with restarts in the first epoch, without them in two, and with a voter that is added or
removed, with restarts too."""

VOTERS = 3
METRICS = f"{jvm.PACKAGE}raft.internals.KafkaRaftMetrics"
"""The class of a leader's metrics, which are made afresh for each leader; only newer versions ask for them."""

Voter = tuple[int, int, int, int, int, tuple[int, ...]]
"""A voter's number, epoch, vote, leader and role, -1 for none; and who the voters are by its log."""
VoterOutcome = tuple[Any, ...]


def _raft(name: str) -> str:
    return f"{jvm.PACKAGE}raft.{name}"


class Quorum:
    """Makes objects of Kafka's quorum classes; `disk` is the ElectionState on the disk of the QuorumState made last."""

    def __init__(self) -> None:
        self.listener = jvm.kafka_class("common.network.ListenerName")("CONTROLLER")
        nowhere = jvm.java_class("java.util.HashMap")()
        nowhere.put(self.listener, jvm.java_class("java.net.InetSocketAddress").createUnresolved("localhost", 9000))
        self.endpoints = jvm.java_class(_raft("Endpoints")).fromInetSocketAddresses(nowhere)
        self.time = jvm.kafka_class("common.utils.Time").SYSTEM
        self.offset_and_epoch = jvm.java_class(
            jvm.first_class(_raft("OffsetAndEpoch"), f"{jvm.PACKAGE}server.common.OffsetAndEpoch")
        )

    def voters(self, members: tuple[int, ...]) -> Any:
        addresses = jvm.java_class("java.util.HashMap")()
        for each in members:
            address = jvm.java_class("java.net.InetSocketAddress").createUnresolved("localhost", 9000 + each)
            addresses.put(jvm.integer(each), address)
        return jvm.java_class(_raft("VoterSet")).fromInetSocketAddresses(self.listener, addresses)

    def key(self, voter: int) -> Any:
        """Return the ReplicaKey of a voter, without a directory id."""
        made = jvm.java_class(_raft("ReplicaKey"))
        return made.of(voter, made.NO_DIRECTORY_ID)

    def filled(self, name: str, known: dict[str, Any]) -> Any:
        """Construct an object: each parameter gets the `known` value of its type (`int`: the next of a list), else a `usual`
        one."""
        types = jvm.constructor(name)[1]
        numbers = iter(known["int"])
        if METRICS in types:
            metrics = jvm.kafka_class("common.metrics.Metrics")()
            known = known | {METRICS: jvm.new(METRICS, metrics, "raft")}
        values = [next(numbers) if each == "int" else known[each] if each in known else self.usual(each) for each in types]
        return jvm.new(name, *values)

    def usual(self, type_name: str) -> Any:
        """Return a stand-in of a type, known by the last word of its name; of others an empty proxy (interface) or None
        (class)."""
        kind = type_name.rpartition(".")[2]
        constants = {"MemoryPool": "NONE", "Compression": "NONE", "BufferSupplier": "NO_CACHING"}
        made: dict[str, tuple[int, ...]] = {"LogContext": (), "SupportedVersionRange": (0, 1), "Random": (1,)}
        known = {"Time": self.time, "Endpoints": self.endpoints, "long": 0}
        if kind in constants:
            return getattr(jvm.java_class(type_name), constants[kind])
        if kind in made:
            return jvm.new(type_name, *made[kind])
        if kind in known:
            return known[kind]
        return jvm.proxy(type_name, {}) if jvm.java_class(type_name).class_.isInterface() else None

    def state_of(self, voter: Voter, end: tuple[int, int]) -> Any:
        """Return a QuorumState started with a voter's state on disk and a log that ends at `end` (offset, epoch).  For a leader
        it is a candidate of the leader's epoch, started with an empty log."""
        number, epoch, voted, leader, role, members = voter
        if role == LEADER:
            members = tuple(sorted({*members, number}))  # one that was removed was a voter when it was elected
            epoch, voted, leader, end = epoch - 1, -1, -1, (0, 0)  # its log has entries of the epoch that it is yet to enter
        optional_int = jvm.java_class("java.util.OptionalInt")
        election = jvm.new(
            _raft("ElectionState"),
            epoch,
            optional_int.empty() if leader < 0 else optional_int.of(leader),
            jvm.optional(None if voted < 0 or leader >= 0 else self.key(voted)),
            jvm.java_class("java.util.HashSet")(),
        )
        self.disk = election
        store = jvm.proxy(
            _raft("QuorumStateStore"),
            {
                "readElectionState": lambda: jvm.optional(election),
                "writeElectionState": self.keep,
                "clear": lambda: None,
                "path": lambda: None,
            },
        )
        machine = self.filled(
            _raft("internals.KRaftControlRecordStateMachine"), {"int": [1024], _raft("VoterSet"): self.voters(members)}
        )
        found = self.filled(
            _raft("QuorumState"),
            {
                "int": [1000, 1000],
                "java.util.OptionalInt": optional_int.of(number),
                f"{jvm.PACKAGE}common.Uuid": jvm.kafka_class("common.Uuid")(7, 1 + number),
                _raft("internals.KRaftControlRecordStateMachine"): machine,
                _raft("QuorumStateStore"): store,
            },
        )
        jvm.call(found, "initialize", self.offset_and_epoch(*end))
        if role == LEADER:
            self.ask_for_votes(found)
        return found

    def keep(self, election: Any, _version: Any) -> None:
        """Store in `disk` what a QuorumState writes to disk."""
        self.disk = election

    def on_disk(self) -> VoterOutcome:
        """Return (epoch, leader, vote) in `disk`.  -1: no leader; no vote, or a leader is known."""
        leader, voted = int(self.disk.leaderIdOrSentinel()), self.disk.optionalVotedKey()
        return int(self.disk.epoch()), leader, int(voted.get().id()) if leader < 0 and voted.isPresent() else -1

    def ask_for_votes(self, state: Any) -> None:
        """Make a QuorumState a candidate, after prospective where the version has that state.  Errors: `NotComparedError` where
        it has and the voter is resigned: such a voter enters a new epoch first."""
        if jvm.has_method(state, "transitionToProspective"):
            if jvm.call(state, "isCandidate") or jvm.call(state, "isFollower") or jvm.call(state, "isUnattached"):
                jvm.call(state, "transitionToProspective")
            else:
                raise NotComparedError
        jvm.call(state, "transitionToCandidate")

    def lead(self, state: Any, start: int, members: tuple[int, ...]) -> Any:
        """Give a candidate the votes of all `members`; return the LeaderState that it then has, its epoch starting at
        `start`."""
        own = int(jvm.call(state, "localIdOrSentinel"))
        for each in [each for each in members if each != own]:
            jvm.call(jvm.call(state, "candidateStateOrThrow"), "recordGrantedVote", each)
        accumulator = self.filled(_raft("internals.BatchAccumulator"), {"int": [1, 0, 1024, 10, 10]})
        return jvm.call(state, "transitionToLeader", start, accumulator)


class NotComparedError(Exception):
    """This Kafka version takes a step in another way, so the step is not compared."""


def read_state(state: Any) -> VoterOutcome:
    """Return (epoch, leader, vote, is a candidate) of a QuorumState.  -1: no leader; no vote, or a leader is known."""
    epoch, leader = int(jvm.call(state, "epoch")), int(jvm.call(state, "leaderIdOrSentinel"))
    voted = -1
    is_candidate = bool(jvm.call(state, "isCandidate"))
    if leader < 0 and is_candidate:
        voted = int(jvm.call(state, "localIdOrSentinel"))
    elif leader < 0 and bool(jvm.call(state, "isUnattachedAndVoted")):
        key = jvm.call(jvm.call(state, "unattachedStateOrThrow"), "votedKey")
        voted = int(key.get().id())
    return epoch, leader, voted, is_candidate


def model_state(voter: Voter) -> VoterOutcome:
    """Return the same four values as `read_state`, for the model's voter."""
    _, epoch, voted, leader, role, _ = voter
    return epoch, leader, voted if leader < 0 else -1, role == CANDIDATE


Values = dict[str, Any]


def voter_of(values: Values, number: int) -> Voter:
    """Return a voter of a model's state: number, epoch, vote, leader, role, and who the voters are by its log."""
    epoch, voted, leader, role = (values[name][number] for name in ("epoch", "voted_for", "leader", "role"))
    return number, epoch, voted, leader, role, members_of(values, number)


def members_of(values: Values, number: int) -> tuple[int, ...]:
    """Return the voters according to a controller's log; all controllers where the voter set cannot change."""
    if "voter_set" not in values:
        return tuple(range(len(values["role"])))
    first = first_change_of(values)
    last = max((each - first + 1 for each in values["log_record"][number] if each >= first), default=0)
    return tuple(each for each, directory in enumerate(values["voter_set"][last]) if directory)


def end_of(values: Values, number: int) -> tuple[int, int]:
    """Return the length of a controller's log and the epoch of its last entry; (0, 0) if it is empty."""
    log = [each for each in values["log_record"][number] if each]
    return len(log), epoch_of_entry(values, log[-1]) if log else 0


def ask_once(ask: Callable[..., VoterOutcome]) -> Callable[..., VoterOutcome]:
    """Decorate a method of VotersOracle: an answer is kept, and given again when the same is asked."""

    @functools.wraps(ask)
    def answer(oracle: VotersOracle, *asked: Any) -> VoterOutcome:
        question = ask.__name__, *asked
        if question not in oracle.known:
            oracle.known[question] = ask(oracle, *asked)
        return oracle.known[question]

    return answer


class VotersOracle:
    """The answers of Kafka's classes to the model's steps; equal questions are asked once."""

    def __init__(self, quorum: Quorum) -> None:
        self.quorum = quorum
        self.known: dict[tuple[Any, ...], VoterOutcome] = {}

    @ask_once
    def stop(self, voter: Voter, end: tuple[int, int]) -> VoterOutcome:
        """Return (epoch, leader, vote) on the disk of a voter that stops, as `Quorum.on_disk` does: all that it wrote is
        there."""
        self.standing(voter, end)
        return self.quorum.on_disk()

    @ask_once
    def restart(self, voter: Voter, end: tuple[int, int]) -> VoterOutcome:
        return read_state(self.quorum.state_of(voter, end))

    @ask_once
    def begin(self, voter: Voter, end: tuple[int, int]) -> VoterOutcome:
        """Return `read_state` of a voter after a time-out; `("not compared",)` if `ask_for_votes` raises `NotComparedError`."""
        state = self.quorum.state_of(voter, end)
        try:
            self.quorum.ask_for_votes(state)
        except NotComparedError:
            return ("not compared",)
        return read_state(state)

    @ask_once
    def vote(self, voter: Voter, end: tuple[int, int], candidate: int, epoch: int, its_end: tuple[int, int]) -> VoterOutcome:
        """Return whether a voter grants a candidate of this `epoch` and log end its vote, and the voter's state then."""
        state = self.standing(voter, end)
        if epoch > int(jvm.call(state, "epoch")):
            self.unattached(state, epoch)
        key = self.quorum.key(candidate)
        is_up_to_date = int(self.quorum.offset_and_epoch(*its_end).compareTo(self.quorum.offset_and_epoch(*end))) >= 0
        more = [False] if jvm.has_method(state, "unattachedAddVotedState") else []
        granted = bool(jvm.call(state, "canGrantVote", key, is_up_to_date, *more))
        if granted and bool(jvm.call(state, "isUnattachedNotVoted")):
            name = "unattachedAddVotedState" if more else "transitionToUnattachedVotedState"
            jvm.call(state, name, epoch, key)
        return granted, read_state(state)

    @ask_once
    def learn(self, voter: Voter, end: tuple[int, int], epoch: int) -> VoterOutcome:
        """Return `read_state` of a voter that has learned of a newer epoch."""
        state = self.standing(voter, end)
        self.unattached(state, epoch)
        return read_state(state)

    @ask_once
    def follow(self, voter: Voter, end: tuple[int, int], epoch: int, leader: int) -> VoterOutcome:
        state = self.standing(voter, end)
        jvm.call(state, "transitionToFollower", epoch, leader, self.quorum.endpoints)
        return read_state(state)

    @ask_once
    def high_watermark(
        self, voter: Voter, start: int, end: int, members: tuple[int, ...], fetched: tuple[int, ...]
    ) -> VoterOutcome:
        """Return, as a tuple of one, the high watermark of a leader whose followers have `fetched` so far; -1 for none."""
        leading = self.quorum.lead(self.quorum.state_of(voter, (start, voter[1] - 1)), start, voter[5])
        offset = jvm.java_class(_raft("LogOffsetMetadata"))
        for each, reached in enumerate(fetched):
            if each != voter[0] and reached:
                jvm.call(leading, "updateReplicaState", self.quorum.key(each), 0, offset(reached))
        jvm.call(leading, "updateLocalState", offset(end), self.quorum.voters(members))
        mark = jvm.call(leading, "highWatermark")
        return (int(mark.get().offset()) if mark.isPresent() else -1,)

    def standing(self, voter: Voter, end: tuple[int, int]) -> Any:
        """Return a QuorumState that stands where the model's voter stands; for a leader, unlike `Quorum.state_of`, a leader."""
        state = self.quorum.state_of(voter, end)
        if voter[4] == LEADER:
            self.quorum.lead(state, 0, voter[5])
        return state

    def unattached(self, state: Any, epoch: int) -> None:
        """Move a state to a newer epoch, in which it knows no leader and has not voted."""
        more = [jvm.java_class("java.util.OptionalInt").empty()] if jvm.has_method(state, "transitionToProspective") else []
        jvm.call(state, "transitionToUnattached", epoch, *more)


def system(setting: str) -> System:
    """Return the model that is compared, with keys written as `KEY=VALUE KEY=VALUE`."""
    model = models()["kraft-quorum"]
    voters = [] if "replication.factor" in setting else [f"replication.factor={VOTERS}"]
    given = read_settings([*voters, "bounds.records=1", *setting.split()])
    return bind(model, configuration(model, given))


def reachable(bound: System) -> Iterator[tuple[State, list[tuple[Step, State]]]]:
    """Yield every reachable state of a system, with the steps that it allows and the states that they lead to."""
    frontier = [state for _, state in bound.initial_states()]
    known = set(frontier)
    while frontier:
        state = frontier.pop()
        found = list(ints.successors(bound, state))
        yield state, found
        for _, after in found:
            if after not in known:
                known.add(after)
                frontier.append(after)


def compare_step(judge: VotersOracle, values: Values, step: Step, after: Values) -> tuple[VoterOutcome, VoterOutcome] | None:
    """Return Kafka's and the model's outcome of a step: a voter's state, or a leader's high watermark; else None."""
    name, given = step.action.name, step.arguments
    if name in ("leader_note_fetch", "controller_append", "leader_add_voter", "leader_remove_voter"):
        return _commit(judge, values, given["leader"], after)
    number = given.get("broker", given.get("candidate", 0))
    voter, end, model = voter_of(values, number), end_of(values, number), model_state(voter_of(after, number))
    match name:
        case "controller_restart":
            return judge.restart(voter, end), model
        case "candidate_begin_epoch":
            return judge.begin(voter, end), model
        case "controller_crash":
            return judge.stop(voter, end), model[:3]
        case "voter_grant_vote":
            other = given["candidate"]
            return judge.vote(voter, end, other, values["epoch"][other], end_of(values, other)), (True, model)
        case "voter_learn_epoch":
            return judge.learn(voter, end, values["epoch"][given["replica"]]), model
        case "voter_follow":
            return judge.follow(voter, end, values["epoch"][given["leader"]], given["leader"]), model
    return None


def _commit(judge: VotersOracle, values: Values, leader: int, after: Values) -> tuple[VoterOutcome, VoterOutcome]:
    """Return Kafka's high watermark (while its new leader has none: the model's before the step) and the model's after it."""
    records, epoch = len(values["record_epoch"]), values["epoch"][leader]
    log = after["log_record"][leader]
    start, before = log.index(records + epoch), values["high_watermark"][leader]
    fetched = tuple(after["fetch_offset"][leader])
    end, members = end_of(after, leader)[0], members_of(after, leader)
    (mark,) = judge.high_watermark(voter_of(values, leader), start, end, members, fetched)
    return (before if mark < 0 else mark,), (after["high_watermark"][leader],)


def find_refused_votes(
    judge: VotersOracle, values: Values, granted: set[tuple[int, int]]
) -> Iterator[tuple[str, VoterOutcome, VoterOutcome]]:
    """Yield (name, (Kafka's answer,), (False,)) of each vote requested whose (voter, candidate) is not in `granted`."""
    numbers = range(len(values["role"]))
    for other in numbers:
        for number in numbers:
            asks = values["is_running"][other] and values["role"][other] == CANDIDATE and values["is_running"][number]
            if not asks or number == other or (number, other) in granted or values["has_vote"][other][number]:
                continue
            if values["epoch"][number] > values["epoch"][other] or number not in members_of(values, other):
                continue
            voter, end = voter_of(values, number), end_of(values, number)
            found = judge.vote(voter, end, other, values["epoch"][other], end_of(values, other))
            yield f"vote of {number} for {other}", (found[0],), (False,)


def compare(setting: str) -> Tally:
    """Return the tally of comparing every transition that is about one voter with Kafka's classes; a missing class is a gap."""
    tally = Tally(PART)
    try:
        _compare(setting, tally)
    except jvm.MissingClass as missing:
        tally.gaps.append(f"{PART}: {missing}")
    return tally


def _compare(setting: str, tally: Tally) -> None:
    begun, bound = time.monotonic(), system(setting)
    judge = VotersOracle(Quorum())
    for state, successors in reachable(bound):
        values = bound.nested(state)
        tally.states += 1
        granted = set()
        for step, after_state in successors:
            if step.action.name == "voter_grant_vote":
                granted.add((step.arguments["broker"], step.arguments["candidate"]))
            found = compare_step(judge, values, step, bound.nested(after_state))
            if found is None or found[0] == ("not compared",):
                continue
            tally.transitions += 1
            tally.compare(step.action.name, setting, step.label, *found)
        for case, kafka, model in find_refused_votes(judge, values, granted):
            tally.transitions += 1
            tally.compare("refused vote", setting, case, kafka, model)
    tally.cases = tally.calls = len(judge.known)
    tally.seconds = time.monotonic() - begun
