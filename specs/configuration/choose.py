"""From the user's TOML file and `--set` options to a model and its complete configuration."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from os import PathLike
from typing import Any

from neverlost.model.faults import FAULTS, ISR_SHRINK, REQUEST_COPY
from neverlost.model.kernel import Configuration, Model
from neverlost.model.kraft.mechanisms import BY_NAME, NEWEST, mechanisms_of, model_of, parsed, version_text
from neverlost.model.kraft.sizes import (
    ON_FETCH,
    ORDERED,
    RECORDS_OF_LATE_BYTES,
    RECORDS_OF_STALLED_REQUESTS,
    RECORDS_OF_UNDOING,
    has_late_bytes,
    has_request_copies,
    has_stalled_requests,
    is_deposed_alive,
    truncation,
)
from neverlost.model.limits import can_happen
from neverlost.model.protocols import models
from neverlost.model.protocols.kraft_standing import MODEL as STANDING
from neverlost.model.system import System, bind
from neverlost.specs.configuration import keys
from neverlost.specs.configuration.input import find_lines, flatten, parse_toml, read_text
from neverlost.specs.configuration.keys import MECHANISM
from neverlost.specs.configuration.metadata_version import FIRST_OF_CLUSTERS, METADATA, find_newest, list_lacking
from neverlost.specs.configuration.version_defaults import (
    ELR,
    ELR_BY_DEFAULT,
    ELR_IS_OPEN,
    OF_TOPICS_AND_PRODUCERS,
    Version,
    list_defaults,
    open_elr,
    parse_version,
    shown,
    without_scala,
)
from neverlost.specs.defects import FIXES
from neverlost.specs.errors import InputError, unknown
from neverlost.specs.patch_releases import UNPATCHED
from neverlost.specs.setting import Notice, NoticeKind, Origin, Setting, SourcePlace, of_kind

Given = dict[str, tuple[Any, str]]
"""Raw values by key, each with the place that it came from, for messages."""

TABLES = ("topic", "producer", "consumer", "cluster", "faults", "start", "bounds", "mechanism")
PREFIXED = ("faults", "start", "bounds", "mechanism")


@dataclass(frozen=True)
class Chosen:
    """A model with one complete configuration, and for whom it speaks (topics, for Kafka's own files).

    `release` is the Kafka version that was asked for, None if a key departs from its mechanisms.  `brokers` are those that
    the replicas stand for, by partition.  `settings` are the configuration's values as text, each with where it comes from;
    `notices` what was noticed about the input, `places` where the user's files speak of each subject.  `out` are the brokers
    that are outside the ISR now, by partition: all of them where it is offline.  `differs` distinguishes it from others that
    speak for the same subjects.
    """

    model: Model
    configuration: Configuration
    subjects: tuple[str, ...] = ()
    release: str | None = None
    brokers: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    settings: Mapping[str, Setting] = field(default_factory=dict)
    notices: tuple[Notice, ...] = ()
    places: Mapping[str, SourcePlace] = field(default_factory=dict)
    out: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    differs: str = ""

    @property
    def system(self) -> System:
        return bind(self.model, self.configuration)

    @property
    def left_out(self) -> str | None:
        """Why `holds` would be no answer: the question leaves out a part of how a described partition stands.  Else None."""
        return next(map(str, of_kind(self.notices, NoticeKind.LEFT_OUT)), None)

    @property
    def is_standing(self) -> bool:
        """True if it begins as a described partition stands now: with stored records, while being reassigned, or leaderless."""
        return self.model is STANDING


def stand(chosen: Chosen, beginning: Mapping[str, Setting]) -> Chosen | None:
    """Return the configuration that begins as `start.*` settings say; None where the models cannot.

    Errors: `InputError` for a value that none of these keys takes.
    """
    if chosen.model.name not in ("kraft", "kraft-elr"):
        return None
    values = {key: keys.KEYS[key].parse(each.value, each.where) for key, each in beginning.items()}
    configuration = {**chosen.configuration, **values}
    if STANDING.contradiction(configuration) is not None:
        return None
    return replace(chosen, model=STANDING, configuration=configuration, settings={**chosen.settings, **beginning})


def broker_names(brokers: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
    """Return the names of the replicas that stand for the brokers of these partitions: the brokers of the first partition if
    all are of one topic; otherwise no names, an empty tuple."""
    topics = {name.rpartition("-")[0] for name in brokers}
    return next(iter(brokers.values())) if len(topics) == 1 else ()


def read_toml(path: PathLike[str] | str) -> Given:
    """Return the keys of a TOML configuration file, with raw values and places.

    Errors: `InputError` for a file that cannot be read, malformed TOML, unknown tables, and known keys in the wrong table.
    """
    text = read_text(path)
    document, lines = parse_toml(text, str(path)), find_lines(text)
    found: Given = {}
    for name, value in document.items():
        if not isinstance(value, dict):
            found[name] = (value, _place(path, lines, name))
            continue
        if name in ("kafka", "kraft", "metadata"):
            found |= {f"{name}.{key}": (each, _place(path, lines, f"{name}.{key}")) for key, each in flatten(value)}
            continue
        if name not in TABLES:
            raise unknown("table", name, TABLES, str(path))
        for key, each in flatten(value):
            full = f"{name}.{key}" if name in PREFIXED else key
            found[full] = (each, f"[{name}] of {_place(path, lines, f'{name}.{key}')}")
            known = keys.KEYS.get(full)
            if known is not None and known.table != name:
                raise InputError(f"{full} in [{name}] of {str(path)!r} belongs in [{known.table}]")
    return found


def _place(path: PathLike[str] | str, lines: Mapping[str, int], key: str) -> str:
    """Return `FILE line N`, or only `FILE` for a key that has no line of its own."""
    return f"{path} line {lines[key]}" if key in lines else str(path)


def read_settings(settings: Mapping[str, Any] | Iterable[str] | None) -> Given:
    """Return the keys of a dictionary, or of `KEY=VALUE` texts (as of `--set`), with raw values and places; none for None.

    The last of several texts of one key counts.
    Errors: `InputError` for settings of another form, and for texts that give two different Kafka versions.
    """
    if isinstance(settings, Mapping):
        listed = {name: list(value) if isinstance(value, tuple) else value for name, value in settings.items()}
        return {_without_table(name): (value, "settings") for name, value in listed.items()}
    if settings is not None and not isinstance(settings, Iterable):
        raise InputError(f"bad settings {settings!r}: write a dictionary, or texts KEY=VALUE")
    found: Given = {}
    for setting in [settings] if isinstance(settings, str) else settings or ():
        if not isinstance(setting, str):
            raise InputError(f"bad setting {setting!r}: write a dictionary, or texts KEY=VALUE")
        name, equals, value = (each.strip() for each in setting.partition("="))
        if not equals or not name:
            raise InputError(f"bad --set {setting!r}: write KEY=VALUE")
        name = _without_table(name)
        if name == VERSION and found.get(name, (value,))[0] != value:
            raise InputError(f"{name} is {found[name][0]!r} in --set and {value!r} in another --set; give one of them")
        found[name] = (value, "--set")
    return found


def _without_table(name: str) -> str:
    """Return a key without the table that it has in TOML files, as in `topic.replication.factor`; any other name as it is."""
    table, _, key = name.partition(".")
    return key if key in keys.KEYS and keys.KEYS[key].table == table else name


def read_given(config: PathLike[str] | str | None, settings: Mapping[str, Any] | Iterable[str] | None) -> Given:
    """Return the keys of a configuration file, if one is named, and of the settings, which win.  Errors: as both readers."""
    return (read_toml(config) if config else {}) | read_settings(settings)


def choose(
    given: Given, model_name: str | None = None, subjects: tuple[str, ...] = (), offered: Mapping[str, Setting] | None = None
) -> Chosen:
    """Return the model that the keys (or else `model_name`) name, with everything else defaulted.

    `offered` are a cluster's own settings: the given keys win over them, and those that the model does not read are left out.
    Without a model or a version, given or offered, the newest version is assumed.

    Errors: `InputError` for an unknown model, key or value, for values that contradict each other, and where the keys give a
    version, of Kafka or of the metadata, beside a model.
    """
    given, offered = dict(given), dict(offered or {})
    name, where = given.pop("model", (model_name, "the command line"))
    stated, own = given.pop(VERSION, None), offered.pop(VERSION, None)
    if stated is not None and name is not None:
        raise InputError(f"give model or kafka.version, not both ({name!r} and {stated[0]!r})")
    if name is None:
        version = _make_setting(_text_of_version(*stated), stated, None) if stated is not None else own or ASSUMED_VERSION
        return _choose_by_version(version, given, subjects, offered)
    offered.pop(METADATA, None)
    if METADATA in given:
        raise InputError(f"{METADATA} in {given[METADATA][1]} goes with kafka.version, not with model={name}")
    if name not in models():
        raise unknown("model", str(name), models(), where)
    return _complete(models()[str(name)], given, offered, subjects)


def change_settings(chosen: Chosen, changes: Mapping[str, str]) -> Chosen:
    """Return the configuration with a few settings changed; every other one keeps its value and where it comes from.

    Another Kafka version brings its own mechanisms and metadata version, in place of those so far; `defects` switches the
    mechanisms that mend known defects.

    Errors: `InputError` for a wrong key or value, and for changes that contradict each other.
    """
    if OUTSIDE in changes and chosen.is_standing:
        chosen = replace(chosen, model=models()["kraft-elr" if chosen.configuration[ELR] else "kraft"])
    left, about = {key: each for key, each in chosen.settings.items() if each.value != "" and key not in changes}, {}
    left = {key: each for key, each in left.items() if key in (VERSION, METADATA, ORDERED) or key in chosen.model.keys}
    name = None
    if VERSION in changes:
        left = {key: each for key, each in left.items() if key != METADATA and not key.startswith(MECHANISM)}
    else:
        name = "kraft-elr" if changes.get(ELR) == "true" and chosen.model.name == "kraft" else chosen.model.name
        about = {key: left.pop(key) for key in (VERSION, METADATA) if key in left}
    if DEFECTS_KEY in changes:
        has = "true" if changes[DEFECTS_KEY] == "fixed" else None
        left = {key: each for key, each in left.items() if key not in FIXES or each.value == has}
    found = choose({key: (value, CHANGE) for key, value in changes.items()}, name, chosen.subjects, left)
    for key, each in left.items():
        if key not in found.settings:
            keys.key_of(key, each.where, found.model.keys)
    return replace(
        chosen,
        model=found.model,
        configuration=found.configuration,
        release=found.release if VERSION in changes else chosen.release,
        settings={**about, **found.settings},
        notices=tuple(dict.fromkeys((*chosen.notices, *found.notices))),
    )


def with_all_in_sync(chosen: Chosen) -> Chosen:
    """Return the configuration made to begin with every replica in the ISR, however the described partition stands now."""
    return change_settings(chosen, {OUTSIDE: "0"}) if chosen.is_standing or chosen.configuration[OUTSIDE] else chosen


VERSION, DEFECTS_KEY, OUTSIDE, RECORDS = "kafka.version", "defects", "start.outside_isr", "bounds.records"
CHANGE, OURS = "a change", "the default of neverlost"
"""Where a value comes from that the question itself changes, and one that nobody gives."""

ASSUMED_VERSION = Setting(version_text(NEWEST), "the newest, for no version is given", Origin.ASSUMED)


def choose_each(given: Given) -> list[Chosen]:
    """Return the configurations that the keys may mean: two, with ELR on and off, if they leave it open; else one.

    Errors: as `choose`.
    """
    version = elr_is_open_in(given)
    if version is None:
        return [choose(given)]
    found = [choose(given, offered={ELR: each}) for each in open_elr(version)]
    return [replace(each, notices=(ELR_IS_OPEN, *each.notices)) for each in found]


def choose_one(given: Given) -> Chosen:
    """Return the one configuration that the keys mean.

    Errors: as `choose`; and `InputError` where they leave open whether eligible leader replicas are on.
    """
    version = elr_is_open_in(given)
    if version is not None:
        raise InputError(
            f"clusters of Kafka {shown(version)} may have eligible leader replicas on or off: set {ELR}=true or false"
        )
    return choose(given)


def elr_is_open_in(given: Mapping[str, tuple[Any, str]]) -> Version | None:
    """Return the version that the keys give, else the newest, where it may have ELR on or off: from 4.1 on.  Return None
    before that, and where a key settles it, by a model or by ELR."""
    if "model" in given or ELR in given:
        return None
    text, where = given.get(VERSION, (ASSUMED_VERSION.value, ""))
    version = parse_version(_text_of_version(text, where), _place_of_version(where))
    return version if version >= ELR_BY_DEFAULT else None


def _text_of_version(value: Any, where: str) -> str:
    """Return a version as text, without `2.13-` (Scala's).  Errors: `InputError` for a number: 4.1 and 4.10 are the same."""
    if isinstance(value, int | float):
        place = _place_of_version(where)
        raise InputError(f'{place} is the number {value}, of which 4.1 and 4.10 are the same: write it in quotes, "{value}"')
    return without_scala(str(value))


def _place_of_version(where: str) -> str:
    return where if where == "--kafka-version" else f"{VERSION} in {where}"


def _complete(model: Model, given: Given, offered: Mapping[str, Setting], subjects: tuple[str, ...]) -> Chosen:
    """Return a model's complete configuration: the given keys, else the offered ones that it reads, else defaults.  Each value
    comes with its source; an offered `filesystem.ordered` is kept among the settings of every model, read or not."""
    read = {key: each for key, each in offered.items() if key in model.keys}
    configuration = keys.configuration(model, _get_raw(read) | given)
    settings = {
        key: _make_setting(str(keys.shown(value)), given.get(key), read.get(key)) for key, value in configuration.items()
    }
    if configuration.get(DEFECTS_KEY) == "fixed":
        mended = (key for key in FIXES if key not in given and key not in read)
        settings |= {key: Setting("true", f"{DEFECTS_KEY}=fixed", Origin.DEFAULT) for key in mended}
    settings |= {key: each for key, each in offered.items() if key == ORDERED}
    return say_what_is_left_out(Chosen(model, configuration, subjects, settings=settings), after_deposition=False)


def say_what_is_left_out(chosen: Chosen, after_deposition: bool = True) -> Chosen:
    """Return a choice with a notice of each known defect that the question has too few records, or no fault, to show.

    What only a deposed leader shows that runs on is said where the faults allow one, or with `after_deposition`.  Where it
    matters, notices say too that file systems are taken to be ordered, and that a broker that is down is taken to be fenced
    before its leader finds it too slow.  A model without these mechanisms gets no notice.
    """
    asked = chosen.configuration
    if ACKNOWLEDGED_BY_OFFSET not in asked:
        return chosen
    notices = _list_unshown(chosen) if after_deposition or is_deposed_alive(asked) else []
    is_cut = after_deposition or (
        is_deposed_alive(asked) and any(can_happen(asked, each) for each in FAULTS if each.loses_data)
    )
    if is_cut and ORDERED not in chosen.settings and truncation(asked) == ON_FETCH and asked["flush.messages"] != "1":
        notices.append(ORDERED_IS_ASSUMED)
    if (
        asked[DEFECTS_KEY] != "fixed"
        and any(can_happen(asked, each) for each in FAULTS if each.stops)
        and not can_happen(asked, ISR_SHRINK)
    ):
        says = (
            "a broker that is down is fenced before its leader finds it too slow "
            "(broker.session.timeout.ms below replica.lag.time.max.ms, and a controller all the time)"
        )
        notices.append(Notice(NoticeKind.ASSUMED, says, "", f"set {ISR_SHRINK.key}=1"))
    return replace(chosen, notices=tuple(dict.fromkeys((*chosen.notices, *notices))))


ORDERED_IS_ASSUMED = Notice(
    NoticeKind.ASSUMED, "a power loss undoes no truncation, as with one ordered journal (ext4, XFS)", "", f"set {ORDERED}=false"
)


def _list_unshown(chosen: Chosen) -> list[Notice]:
    asked = chosen.configuration
    needs = (
        (has_stalled_requests, RECORDS_OF_STALLED_REQUESTS, "no produce request is answered by its offset alone"),
        (has_late_bytes, RECORDS_OF_LATE_BYTES, "no late fetch response brings records of another leader epoch"),
    )
    few = [(says, least) for is_there, least, says in needs if asked["bounds.records"] < least and is_there(asked)]
    notices = [
        Notice(NoticeKind.ASSUMED, f"{says}, which takes {least} records", "", f"set bounds.records={least}", chosen.subjects)
        for says, least in few
    ]
    if has_request_copies(asked) and not can_happen(asked, REQUEST_COPY):
        says = "the controller handles no copy of an AlterPartition request that it has refused"
        notices.append(Notice(NoticeKind.ASSUMED, says, "", f"set {REQUEST_COPY.key}=any", chosen.subjects))
    return notices


ACKNOWLEDGED_BY_OFFSET = BY_NAME["acknowledged-in-epoch-of-append"].key


def _make_setting(value: str, given: tuple[Any, str] | None, offered: Setting | None) -> Setting:
    """Return a value with its source: the user's key, else the cluster's own setting, else the default of neverlost."""
    text = {"True": "true", "False": "false"}.get(value, value)
    if given is not None:
        return Setting(text, given[1], _find_origin(given[1]))
    return replace(offered, value=text) if offered else Setting(text, OURS, Origin.DEFAULT)


def _find_origin(where: str) -> Origin:
    if where.startswith("--") or where == "settings":
        return Origin.FLAG
    return {CHANGE: Origin.CHANGE, OURS: Origin.DEFAULT}.get(where, Origin.FILE)


def _get_raw(offered: Mapping[str, Setting]) -> Given:
    return {key: (each.value, each.where) for key, each in offered.items()}


def chosen_of(cell: Mapping[str, Any]) -> Chosen:
    """Return the model and configuration that a cell of a result document states."""
    stated = cell["config"] | cell["bounds"]
    return choose({str(key): (value, "result.json") for key, value in stated.items() if value != ""}, str(cell["model"]))


def _choose_by_version(stated: Setting, given: Given, subjects: tuple[str, ...], offered: dict[str, Setting]) -> Chosen:
    """Return the modern model (`kraft`, `kraft-elr` or `kraft-unordered`) with the mechanisms and defaults of a Kafka version;
    given and offered keys win over these."""
    version = parse_version(stated.value, _place_of_version(stated.where))
    level = _choose_level(version, given.pop(METADATA, None), offered.pop(METADATA, None))
    if ORDERED in given:
        stated_order = given.pop(ORDERED)
        offered[ORDERED] = _make_setting(str(stated_order[0]), stated_order, None)
    of_version = list_defaults(version)
    raw = _get_raw(offered) | given
    mended = FIXES if str(raw.get(DEFECTS_KEY, ("", ""))[0]).strip() == "fixed" else ()
    off, unpatched = list_lacking(level, version) if level else frozenset[str](), UNPATCHED.get(shown(version), frozenset())
    of_level = f"{METADATA}={level.value}" if level else ""
    rules = {
        key: Setting(str(is_on), of_level if was_on and key in off else f"Kafka {stated.value}", Origin.DEFAULT)
        for key, was_on in mechanisms_of(stated.value).items()
        if (is_on := was_on and key not in off | unpatched) or key not in mended
    }
    usual = {key: of_version[key] for key in OF_TOPICS_AND_PRODUCERS}
    acks = str(raw.get("acks", (of_version["acks"].value, ""))[0])
    is_default = offered.get(IDEMPOTENCE, usual[IDEMPOTENCE]).value == "true" and not _is_stated(IDEMPOTENCE, given, offered)
    if acks in ("0", "1") and is_default:
        dropped = Setting("false", f"acks={acks}, with which Kafka's producer drops idempotence", Origin.DEFAULT)
        usual[IDEMPOTENCE], offered = dropped, {key: each for key, each in offered.items() if key != IDEMPOTENCE}
    model = models()[model_of(stated.value, raw)]
    found = _complete(model, given, rules | usual | offered, subjects)
    release = shown(version) if unpatched else ".".join(stated.value.split(".")[:2])
    older = [] if mended else [each for each in UNPATCHED if each.rpartition(".")[0] == shown(version)]
    newest = f"Kafka {shown(version)} is its newest patch, which has more fixes than {' and '.join(older)}"
    set_to = "give --kafka-version " if stated.where == "--kafka-version" else f"set {VERSION}="
    noticed = (Notice(NoticeKind.ASSUMED, newest, remedy=f"if it is {older[0]}, {set_to}{older[0]}"),) if older else ()
    if acks in ("0", "1") and str(found.configuration.get(IDEMPOTENCE)) == "True" and IDEMPOTENCE in given:
        says = f"Kafka refuses to start a producer with enable.idempotence=true and acks={acks}"
        noticed = (Notice(NoticeKind.WARNING, says, remedy="set one of them otherwise"), *noticed)
    found = replace(
        found,
        notices=(*noticed, *found.notices),
        release=release if is_release(release, model, found.configuration) else None,
        settings={VERSION: stated, **({METADATA: level} if level else {}), **found.settings},
    )
    ordered = found.settings.get(ORDERED)
    is_ordered = ordered is None or keys.KEYS[ORDERED].parse(ordered.value, ordered.where)
    return found if is_ordered else _undo_truncations(found)


def _undo_truncations(found: Chosen) -> Chosen:
    """Return the choice for the model `kraft-unordered`, with two records if one is only the default.  Errors: `InputError`
    for a configuration that this model refuses."""
    configuration, records = {**found.configuration, ORDERED: False}, found.settings[RECORDS]
    if configuration[RECORDS] < RECORDS_OF_UNDOING and records.where == OURS:
        configuration[RECORDS] = RECORDS_OF_UNDOING
        found = replace(found, settings={**found.settings, RECORDS: replace(records, value=str(RECORDS_OF_UNDOING))})
    unordered = models()["kraft-unordered"]
    wrong = unordered.contradiction(configuration)
    if wrong is not None:
        raise InputError(wrong)
    return replace(found, model=unordered, configuration=configuration)


IDEMPOTENCE = "enable.idempotence"


def _is_stated(key: str, given: Given, offered: Mapping[str, Setting]) -> bool:
    """Return True if the user or a file sets a key; a default does not count."""
    return key in given or (key in offered and offered[key].how not in (Origin.DEFAULT, Origin.ASSUMED))


def _choose_level(version: Version, given: tuple[Any, str] | None, offered: Setting | None) -> Setting | None:
    """Return the metadata version: the given one, else the cluster's own (`offered`), else the newest of its Kafka version, or
    None if that is before 3.3."""
    if given is not None:
        return _make_setting(str(given[0]), given, None)
    if offered is not None or version < FIRST_OF_CLUSTERS:
        return offered
    return Setting(find_newest(version), f"Kafka {shown(version)}'s default", Origin.DEFAULT)


def is_release(version: str, model: Model, configuration: Configuration) -> bool:
    """Return True if model and configuration have exactly the mechanisms of a Kafka version: as it is shipped or, with
    `defects=fixed`, as it is designed.

    Versions are X.Y, or X.Y.Z for a patch in `UNPATCHED`, which lacks some; return False for any other text.
    """
    found, given = parsed(version), {key: (value, "") for key, value in configuration.items()}
    unpatched = dict.fromkeys(UNPATCHED.get(version, ()), False)
    if found is None or not (unpatched or version == version_text(found)) or model.name != model_of(version, given):
        return False
    mended = dict.fromkeys(FIXES, True) if configuration.get("defects") == "fixed" else {}
    rules = mechanisms_of(version) | unpatched | mended
    return all(configuration.get(key, value) == value for key, value in rules.items())
