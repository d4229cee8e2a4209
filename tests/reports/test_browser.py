"""The HTML page in a real browser, from a file and without a network: `pytest -m browser`.

Needs Debian's `chromium` (any Chromium or Chrome on the path) and the `browser` extra.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.program import DATA, neverlost

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page

pytestmark = pytest.mark.browser

ROOT = Path(__file__).parents[2]
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
DESKTOP, PHONE = {"width": 1280, "height": 900}, {"width": 390, "height": 844}
LARGEST, PAPER = 3_000_000, 794

MANY = """
properties = ["acked-never-lost"]
model = ["kraft", "kraft-elr"]
symmetry = true
[topic]
replication.factor = "1..2"
min.insync.replicas = "1..2"
unclean.leader.election.enable = [false, true]
flush.messages = ["default", "1"]
[producer]
acks = ["0", "1", "all"]
[faults]
lossy_crash = "1..3"
isr_shrink = "0..1"
[bounds]
records = 1
"""

CONTRAST = """() => {
  const channels = text => text.match(/[\\d.]+/g).map(Number);
  const light = rgb => {
    const linear = each => each <= 0.03928 ? each / 12.92 : ((each + 0.055) / 1.055) ** 2.4;
    const part = rgb.slice(0, 3).map(each => linear(each / 255));
    return 0.2126 * part[0] + 0.7152 * part[1] + 0.0722 * part[2];
  };
  const behind = node => {
    for (let each = node; each; each = each.parentElement) {
      const found = channels(getComputedStyle(each).backgroundColor);
      if (found.length < 4 || found[3] > 0) return found;
    }
    return [255, 255, 255];
  };
  const poor = [];
  for (const node of document.querySelectorAll("main *, header *")) {
    const hasText = [...node.childNodes].some(each => each.nodeType === 3 && each.textContent.trim());
    if (!hasText || !node.checkVisibility() || node.closest("svg, option, .over, button:disabled")) continue;
    const pair = [light(channels(getComputedStyle(node).color)), light(behind(node))].sort((a, b) => b - a);
    const ratio = (pair[0] + 0.05) / (pair[1] + 0.05);
    if (ratio < 4.5) poor.push(`${node.tagName}.${node.className} ${ratio.toFixed(2)}: ${node.textContent.slice(0, 40)}`);
  }
  return poor;
}"""

FOCUSED = """() => {
  const node = document.activeElement, style = getComputedStyle(node);
  const label = node.labels && node.labels.length ? node.labels[0] : node;
  return {tag: node.tagName, id: node.id, inMap: !!node.closest("#map"), inFilters: !!node.closest("#filters"),
    outline: style.outlineStyle !== "none" && parseFloat(style.outlineWidth) > 0,
    name: node.getAttribute("aria-label") || label.textContent.trim()};
}"""


TABLES = {"tolerance": 20, "roll": 12, "nines": 20}
"""Commands whose pages are tables, with their exit statuses: a partition is offline, and another has a replica outside the ISR,
beside which a stop can lose a record by known bugs."""

NAMES = ("sweep", "check", *TABLES, "observe")
"""The pages that everything is asked of."""

SIZES = ({"width": 1440, "height": 900}, PHONE)
AXE = """async () => (await axe.run(document, {resultTypes: ["violations"]})).violations.map(
  each => `${each.id}: ${each.nodes.length} such as ${each.nodes[0].html.slice(0, 120)}`)"""


PATIENCE = 300_000
"""Milliseconds that a step may take: on a machine with other work a page opens in half a minute."""


def context_of(browser: Browser, **options: Any) -> BrowserContext:
    """A context of its own, which waits long enough."""
    found = browser.new_context(**options)
    found.set_default_timeout(PATIENCE)
    return found


def accessible(browser: Browser, report: Path) -> None:
    """At two sizes, light and dark: axe-core finds nothing, nothing is written to the console, nothing scrolls sideways."""
    import axe_playwright_python

    script = (Path(axe_playwright_python.__file__).parent / "axe.min.js").read_text()
    for viewport in SIZES:
        for scheme in ("light", "dark"):
            context = context_of(browser, viewport=viewport, color_scheme=scheme, offline=True, bypass_csp=True)
            page, wrong = context.new_page(), list[str]()
            page.on("console", lambda message, wrong=wrong: wrong.append(message.text))  # type: ignore[misc]
            page.on("pageerror", lambda problem, wrong=wrong: wrong.append(str(problem)))  # type: ignore[misc]
            page.goto(report.as_uri())
            page.evaluate(script)
            assert page.evaluate(AXE) == wrong == [], (report, viewport, scheme)
            assert page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth") == 0
            context.close()


class Pages(dict[str, Path]):
    """The pages by their names, each written when it is first asked for."""

    def __init__(self, place: Path) -> None:
        super().__init__()
        self.place = place

    def __missing__(self, name: str) -> Path:
        arguments, status = self._question(name)
        assert neverlost(name, *arguments, "--out", str(self.place / name), "--quiet").returncode == status
        self[name] = self.place / name / "report.html"
        return self[name]

    def _question(self, name: str) -> tuple[list[str], int]:
        """What the page answers, and the status of that."""
        if name == "sweep":
            matrix = self.place / "small.toml"
            matrix.write_text('defects = "fixed"\n' + (ROOT / "specs" / "matrices" / "small.toml").read_text())
            return [str(matrix)], 0
        if name == "check":
            asked = ("model=truncate-to-hw", "replication.factor=2", "bounds.records=1", "bounds.max_leader_epoch=1")
            return [*(part for each in asked for part in ("--set", each)), "--continue"], 12
        if name == "observe":
            return [str(DATA / "observed" / "run-4.3.jsonl")], 0
        described = str(DATA / "kafka" / "describe-3.9.txt")
        return ["--describe", described, "--kafka-version", "3.9", "--set", "metadata.version=3.9-IV0"], TABLES[name]


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Pages:
    return Pages(tmp_path_factory.mktemp("pages"))


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    from playwright.sync_api import sync_playwright

    found = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    assert found, "no Chromium on the path: apt-get install chromium"
    with sync_playwright() as playwright:
        yield playwright.chromium.launch(executable_path=found, args=FLAGS, timeout=PATIENCE)


@pytest.fixture
def page(browser: Browser, pages: dict[str, Path]) -> Iterator[Page]:
    """The sweep's page; whatever goes wrong in it, or leaves it, fails the test."""
    context = context_of(browser, viewport=DESKTOP, color_scheme="light", offline=True)
    wrong: list[str] = []
    found = context.new_page()
    found.on("console", lambda message: wrong.append(message.text))
    found.on("pageerror", lambda problem: wrong.append(str(problem)))
    found.on("request", lambda request: None if request.url.startswith(("file:", "data:")) else wrong.append(request.url))
    found.goto(pages["sweep"].as_uri())
    yield found
    context.close()
    assert not wrong


def data_of(page: Page) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(page.locator("#data").text_content() or "")
    return found


@pytest.mark.parametrize("name", NAMES)
def test_every_page_is_accessible(browser: Browser, pages: dict[str, Path], name: str) -> None:
    accessible(browser, pages[name])


@pytest.mark.parametrize("name", TABLES)
def test_every_table_is_reached_by_keyboard(page: Page, pages: dict[str, Path], name: str) -> None:
    page.goto(pages[name].as_uri())
    stops: list[dict[str, Any]] = []
    while not stops or (stops[-1]["tag"] != "BODY" and len(stops) < 60):
        page.keyboard.press("Tab")
        stops.append(page.evaluate(FOCUSED))
    reached = [each for each in stops if each["tag"] != "BODY"]
    assert reached[0]["id"] == "theme" and all(each["outline"] and each["name"].strip() for each in reached)
    assert page.locator(".wide table").count() <= sum(each["tag"] == "DIV" for each in reached)
    assert {"SUMMARY"} <= {each["tag"] for each in reached} or page.locator("summary").count() == 0
    assert any("assuming acks=all" in each for each in page.locator(".notice").all_inner_texts())
    assert page.locator("td.violated").count() > 0 or name == "nines"


def test_a_filter_closes_what_it_hides_and_the_keys_that_no_longer_differ(page: Page) -> None:
    heads = page.locator("#map th.key")
    assert heads.all_inner_texts() == ["min ISR", "acks", "unclean"]
    opened = page.locator("#map [aria-pressed=true]").get_attribute("title") or ""
    other = "1" if "acks=all" in opened else "all"
    page.select_option("[data-filter=acks]", other)
    assert heads.all_inner_texts() == ["min ISR", "unclean"] and page.locator("#map [aria-pressed=true]").count() == 0
    assert "is hidden by what was chosen above" in page.locator("#cell").inner_text()
    page.locator("#map button").first.click()
    assert page.locator("#cell .sentence").count() == 1


def test_filters_leave_the_cells_that_they_name(page: Page) -> None:
    cells = data_of(page)["cells"]
    assert page.locator("#map button").count() == len(cells) == 24
    page.select_option("[data-filter=model]", "kraft-elr")
    assert page.locator("#map button").count() == 12
    page.select_option("[data-filter=verdict]", "holds")
    holding = [each for each in cells if each["cell"]["model"] == "kraft-elr" and each["properties"][0]["verdict"] == "holds"]
    assert page.locator("#map button").count() == page.locator("#map button.holds").count() == len(holding) > 0
    assert page.locator("#shown").text_content() == f"{len(holding)} of 24 cells shown"
    page.select_option("[data-filter=property]", "committed-never-lost")
    kept = [
        {each["name"]: each["verdict"] for each in cell["properties"]} for cell in cells if cell["cell"]["model"] == "kraft-elr"
    ]
    assert page.locator("#map button").count() == [each["committed-never-lost"] for each in kept].count("holds") > 0


def test_filters_stand_in_the_address(page: Page) -> None:
    page.select_option("[data-filter=model]", "kraft-elr")
    page.select_option("[data-filter=verdict]", "holds")
    assert page.url.endswith("#model=kraft-elr&verdict=holds")
    page.reload()
    many = page.locator("#map button.holds").count()
    assert many == page.locator("#map button").count() > 0 and page.locator("[data-filter=model]").input_value() == "kraft-elr"
    assert page.locator("#cell h2 .badge").text_content() == "holds"
    page.select_option("[data-filter=model]", "")
    assert page.url.endswith("#verdict=holds") and page.locator("#map button").count() > many


def violated(page: Page) -> int:
    """A cell with one changed setting between it and a safe one that refuses a step."""
    data = data_of(page)
    return next(
        number
        for number, cell in enumerate(data["cells"])
        for entry in cell["properties"][:1]
        if entry.get("comparison") is not None
        and data["comparisons"][entry["comparison"]].get("refused")
        and len(entry["sibling"]["changed"]) == 1
    )


def test_a_cell_opens_and_steps_by_keyboard(page: Page) -> None:
    data, number = data_of(page), violated(page)
    entry = data["cells"][number]["properties"][0]
    page.locator(f"#map [data-cell='{number}']").click()
    assert page.locator("#cell .sentence").input_value() == entry["says"]
    assert page.evaluate("document.activeElement.className") == "stepper"
    frames = data["timelines"][entry["timeline"]]["frames"]
    for step in range(1, len(frames)):
        page.keyboard.press("ArrowRight")
        assert page.locator("svg .step.now").get_attribute("data-row") == str(step)
        assert page.locator("[data-step]").get_attribute("data-step") == str(step)
        assert data["frames"][frames[step]]["says"] in (page.locator(".stepper .says").text_content() or "")
        assert page.locator("ol.all li[aria-current=step]").count() == 1
    assert page.locator(".behaviour.broken .record.gone").count() > 0
    page.keyboard.press("ArrowRight")
    assert page.locator("[data-step]").get_attribute("data-step") == str(len(frames) - 1)
    page.keyboard.press("Home")
    assert page.locator("[data-step]").get_attribute("data-step") == "0" and page.locator(".record.gone").count() == 0
    page.keyboard.press("End")
    assert page.locator(".record.gone").count() > 0


def test_the_safe_run_stands_beside_and_says_where_it_parts(page: Page) -> None:
    data, number = data_of(page), violated(page)
    entry = data["cells"][number]["properties"][0]
    refused = data["comparisons"][entry["comparison"]]["refused"]
    page.locator(f"#map [data-cell='{number}']").click()
    left, right = page.locator(".behaviour.broken").bounding_box(), page.locator(".behaviour.safe").bounding_box()
    assert left and right and left["y"] == right["y"] and left["x"] + left["width"] <= right["x"]
    for _ in range(refused["step"] - 1):
        page.keyboard.press("ArrowRight")
    assert "is refused here" not in page.locator(".behaviour.safe").inner_text()
    page.keyboard.press("ArrowRight")
    assert f"Step {refused['step']} is refused here: {refused['clause']}" in page.locator(".behaviour.safe").inner_text()
    page.locator("#sibling button").click()
    assert page.locator("#cell h2 .badge").text_content() == "holds"


def test_other_properties_are_chips_that_open_theirs(page: Page, pages: dict[str, Path]) -> None:
    for name in ("sweep", "check"):
        page.goto(pages[name].as_uri())
        data = data_of(page)
        number = violated(page) if name == "sweep" else 0
        first, other = data["cells"][number]["properties"]
        page.locator(f"#map [data-cell='{number}']").first.click()
        for shown, left in ((first, other), (other, first)):
            assert page.locator("#cell .sentence").input_value() == shown["says"] != left["says"]
            assert page.locator("#cell h2").inner_text() == f"{shown['verdict']} {shown['name']}"
            assert page.locator("#map [aria-pressed=true]").count() == 1
            assert page.locator("[data-filter=property]").count() == (name == "sweep")
            if name == "sweep":
                assert page.locator("[data-filter=property]").input_value() == shown["name"]
            (chip,) = page.locator(".chips button").all()
            assert (chip.get_attribute("class"), chip.get_attribute("title")) == (left["verdict"], left["says"])
            assert (chip.inner_text().split()[0], page.evaluate("document.activeElement.className")) == (
                left["name"],
                "stepper",
            )
            chip.click()


def test_citations_carry_everything(page: Page) -> None:
    data, number = data_of(page), violated(page)
    cell = data["cells"][number]
    page.locator(f"#map [data-cell='{number}']").click()
    for form in ("plain", "Markdown", "BibTeX"):
        page.get_by_role("button", name=form).click()
        said = page.locator("#cite textarea").input_value()
        assert all(each in said for each in ("violated", "acked-never-lost", cell["id"], "neverlost 0", "records=1"))
        assert page.evaluate("getSelection().toString()") or page.locator("#cite textarea").evaluate(
            "each => each.selectionEnd"
        )


def test_themes_switch_and_stay_readable(page: Page) -> None:
    colours = []
    for theme in ("light", "dark"):
        assert page.evaluate("document.documentElement.dataset.theme") == theme
        colours.append(page.evaluate("getComputedStyle(document.body).backgroundColor"))
        assert page.evaluate(CONTRAST) == []
        page.locator("#theme").click()
    assert colours[0] != colours[1] and page.evaluate("document.documentElement.dataset.theme") == "light"


def test_print_has_the_counterexample_and_no_controls(page: Page) -> None:
    page.locator("#theme").click()
    page.emulate_media(media="print")
    for control in ("#filters", "#theme", ".step button", "#cite button", "#sibling button"):
        assert not any(each.is_visible() for each in page.locator(control).all()), control
    assert page.locator("ol.all li").first.is_visible() and page.locator("#map").is_visible()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    page.set_viewport_size({"width": PAPER, "height": 1123})
    assert page.evaluate("document.documentElement.scrollWidth") <= PAPER
    printed = page.pdf()
    assert printed.startswith(b"%PDF") and len(printed) > 20_000


@pytest.mark.parametrize("name", ["sweep", "check"])
def test_a_phone_scrolls_down_only(page: Page, pages: dict[str, Path], name: str) -> None:
    page.set_viewport_size(PHONE)
    page.goto(pages[name].as_uri())
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    page.locator(".stepper").press("End")
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    assert page.locator("#matrix .wide").evaluate("each => each.scrollWidth - each.clientWidth") == 0
    boxes = [each.bounding_box() for each in page.locator(".lane").all()]
    assert all(box and box["x"] >= 0 and box["x"] + box["width"] <= PHONE["width"] for box in boxes)


def test_everything_is_reached_by_keyboard_and_shows_it(page: Page) -> None:
    stops: list[dict[str, Any]] = []
    while not stops or (stops[-1]["tag"] != "BODY" and len(stops) < 60):
        page.keyboard.press("Tab")
        stops.append(page.evaluate(FOCUSED))
    reached = [each for each in stops if each["tag"] != "BODY"]
    assert all(each["outline"] and each["name"].strip() for each in reached), [
        each for each in reached if not (each["outline"] and each["name"].strip())
    ]
    assert [each["tag"] for each in reached[:2]] == ["A", "BUTTON"] and reached[1]["id"] == "theme"
    assert sum(each["inFilters"] for each in reached) == page.locator("#filters select").count()
    assert sum(each["inMap"] for each in reached) == 1
    page.locator("#map button[tabindex='0']").focus()
    before = page.evaluate("document.activeElement.dataset.cell")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowRight")
    after = page.evaluate("document.activeElement.dataset.cell")
    assert before != after
    page.keyboard.press("Enter")
    assert page.locator(f"#map [data-cell='{after}']").get_attribute("aria-pressed") == "true"
    assert page.evaluate("document.activeElement.className") == "stepper"


def test_a_check_shows_every_property(page: Page, pages: dict[str, Path]) -> None:
    page.goto(pages["check"].as_uri())
    data = data_of(page)
    assert page.locator("#map button").count() == len(data["properties"]) > 1
    for number, each in enumerate(data["properties"]):
        page.locator("#map button").nth(number).click()
        assert page.locator("#map [aria-pressed=true]").count() == 1
        assert each["name"] in (page.locator("#cell h2").text_content() or "")
    assert page.locator("#graph, #growth, #ledger, #measured").count() == 0


def test_a_page_of_many_cells_is_small_and_quick(page: Page, tmp_path: Path) -> None:
    (tmp_path / "many.toml").write_text(MANY)
    assert neverlost("sweep", "many.toml", "--out", "many", cwd=tmp_path).returncode == 0
    report = tmp_path / "many" / "report.html"
    assert report.stat().st_size < LARGEST
    page.goto(report.as_uri())
    assert page.locator("#map button").count() >= 500
    assert page.locator("#matrix .wide").evaluate("each => each.scrollWidth - each.clientWidth") == 0
    page.set_viewport_size(PHONE)
    page.reload()
    assert page.locator("#matrix .wide").evaluate("each => each.scrollWidth - each.clientWidth") == 0
    page.set_viewport_size(DESKTOP)
    page.reload()
    page.select_option("[data-filter=acks]", "all")
    assert page.locator("#map button").count() < 500
    page.emulate_media(media="print")
    page.set_viewport_size({"width": PAPER, "height": 1123})
    assert page.evaluate("document.documentElement.scrollWidth") <= PAPER


TOPICS, PARTITIONS = 3000, 12
KINDS = ("min.insync.replicas=2", "min.insync.replicas=1", "unclean.leader.election.enable=true")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of 3,000 topics with 12 partitions each, some of them under-replicated."""
    place = tmp_path_factory.mktemp("cluster")
    lines = []
    for number in range(TOPICS):
        name = f"team{number % 40:02}.domain{number % 7}.events-of-something-{number:04}"
        lines.append(f"Topic: {name}\tTopicId: x\tPartitionCount: 12\tReplicationFactor: 2\tConfigs: {KINDS[number % 3]}\n")
        for partition in range(PARTITIONS):
            isr = "1" if number % 500 == partition == 7 else "1,2"
            lines.append(f"\tTopic: {name}\tPartition: {partition}\tLeader: 1\tReplicas: 1,2\tIsr: {isr}\n")
    (place / "topics.txt").write_text("".join(lines))
    faults = ("acks=all", "defects=fixed", "faults.lossy_crash=1", "faults.isr_shrink=1", "bounds.records=1")
    settings = [part for each in faults for part in ("--set", each)]
    asked = (
        "--describe",
        str(place / "topics.txt"),
        "--kafka-version",
        "3.9",
        "--set",
        "metadata.version=3.9-IV0",
        "--property",
        "acked-never-lost",
    )
    assert neverlost("check", *asked, *settings, "--out", str(place / "out"), "--quiet").returncode == 12
    return place / "out" / "report.html"


def test_the_cards_are_reached_by_keyboard_and_accessible(browser: Browser, cluster: Path) -> None:
    accessible(browser, cluster)
    context = context_of(browser, viewport=DESKTOP, offline=True)
    page = context.new_page()
    page.goto(cluster.as_uri())
    stops = []
    for _ in range(16):
        page.keyboard.press("Tab")
        stops.append(page.evaluate(FOCUSED))
        if stops[-1]["name"] == "Show how, step by step":
            break
    assert all(each["outline"] and each["name"].strip() for each in stops), stops
    assert {"INPUT", "SELECT", "BUTTON", "SUMMARY"} <= {each["tag"] for each in stops}
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.className") == "stepper"
    page.fill("#topic", "nothing is called so")
    assert "is hidden by what was chosen above" in page.locator("#cell").inner_text()
    context.close()


@pytest.mark.parametrize("viewport", SIZES, ids=["desktop", "phone"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_three_thousand_topics_fit_and_are_found(browser: Browser, cluster: Path, viewport: Any, scheme: Any) -> None:
    assert cluster.stat().st_size < LARGEST
    context = context_of(browser, viewport=viewport, color_scheme=scheme, offline=True)
    page, wrong = context.new_page(), list[str]()
    page.on("console", lambda message: wrong.append(message.text))
    page.on("pageerror", lambda problem: wrong.append(str(problem)))
    page.goto(cluster.as_uri())
    first = page.locator(".group").first
    assert first.locator(".badge").text_content() == "violated" and "(verified" in (first.text_content() or "")
    assert page.locator("#found").text_content() == f"{TOPICS} of {TOPICS} topics in {page.locator('.group').count()} answers"
    page.fill("#topic", "something-0500")
    assert page.locator("#found").text_content().startswith("1 of 3000 topics in ")  # type: ignore[union-attr]
    assert page.url.endswith("#topic=something-0500")
    page.reload()
    assert page.input_value("#topic") == "something-0500"
    page.locator(".group button.link").first.click()
    assert page.locator(".spacetime-box svg").count() == 1 and page.locator(".spacetime .bad").count() > 0
    page.fill("#topic", "nothing is called so")
    assert page.locator(".group").count() == 0 and "Empty the search" in (page.locator("#found").text_content() or "")
    assert page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth") == 0
    assert page.evaluate(CONTRAST) == [] and not wrong
    context.close()
