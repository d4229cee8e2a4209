"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const make = (tag, attributes = {}, ...children) => {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value !== false && value !== null && value !== undefined) node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.filter(child => child !== null && child !== undefined));
  return node;
};
const root = document.documentElement;
const text = value => value === null || value === undefined ? "–" : String(value);
{% include "theme.js" %}

/* What is asked for stands in the address. */
const asked = new URLSearchParams(location.hash.slice(1));
function ask(name, value) {
  if (value) asked.set(name, value); else asked.delete(name);
  history.replaceState(null, "", asked.toString() ? "#" + asked : location.pathname);
}
addEventListener("hashchange", () => location.reload());

const isNarrow = innerWidth < 720;

/* The matrix: of the keys that differ in what is shown, the last that fit across, the others down. */
const brief = {"replication.factor": "RF", "min.insync.replicas": "min ISR", "unclean.leader.election.enable": "unclean",
  "flush.messages": "flush", "eligible.leader.replicas": "ELR", "kafka.version": "Kafka"};
const short = key => brief[key] || key.replace(/^(faults|bounds|mechanism)\./, "").replace(/_/g, " ");
const order = Object.fromEntries(data.varying.map(key => [key, [...new Set(data.cells.map(cell => text(cell.cell[key])))]]));
const follows = (cells, key, other) => {
  const seen = new Map();
  return cells.every(({cell}) => seen.has(text(cell[other])) ? seen.get(text(cell[other])) === text(cell[key]) : seen.set(text(cell[other]), text(cell[key])));
};
function axes(cells) {
  const many = key => new Set(cells.map(({cell}) => text(cell[key]))).size;
  const differing = data.varying.filter(key => many(key) > 1);
  /* A key that goes with another one needs no place of its own. */
  const own = differing.filter((key, place) => !differing.some((other, before) =>
    other !== key && follows(cells, key, other) && !(before > place && follows(cells, other, key))));
  const across = [];
  let width = 1;
  for (const key of [...own].reverse()) {
    if (across.length && (width * many(key) > (isNarrow ? 4 : 12) || across.length >= own.length - 1)) break;
    width *= many(key);
    across.unshift(key);
  }
  return {across, down: own.filter(key => !across.includes(key))};
}
const chosen = Object.fromEntries(data.varying.map(key => [key, ""]));
const isBroken = name => data.cells.some(cell => cell.properties.some(each => each.name === name && each.verdict === "violated"));
const names = data.properties.map(each => each.name);
let property = names.find(isBroken) || names[0], opened = null, step = 0;
const mark = entry => ({holds: "✓", violated: `✗ ${entry.steps}`}[entry.verdict] || "?");
const entryOf = cell => cell.properties.find(each => each.name === property) || cell.properties[0];
const compare = keys => (a, b) => {
  for (const key of keys) {
    const difference = order[key].indexOf(text(a[key])) - order[key].indexOf(text(b[key]));
    if (difference) return difference;
  }
  return 0;
};
const nameOf = (cell, keys) => keys.map(key => text(cell[key])).join("\u0000");
const distinct = (cells, keys) => {
  const seen = new Map();
  for (const each of cells) seen.set(nameOf(each.cell, keys), each.cell);
  return [...seen.values()].sort(compare(keys));
};
const settings = cell => data.varying.map(key => `${key}=${text(cell.cell[key])}`).join(" ");

function filters() {
  const box = document.getElementById("filters");
  const add = (name, filter, values, change) => {
    const select = make("select", {"data-filter": filter, onchange: () => { ask(filter, select.value); change(select.value); map(); }}, ...values);
    const wanted = asked.get(filter);
    if ([...select.options].some(each => each.value === wanted)) { select.value = wanted; change(wanted); }
    box.append(make("label", {}, name, select));
  };
  const any = values => [make("option", {value: ""}, "any"), ...values.map(value => make("option", {value}, value))];
  if (data.properties.length > 1)
    add("property", "property", names.map(each => make("option", {selected: each === property}, each)), value => {
      property = value;
      if (opened !== null) show(opened, false);
    });
  for (const key of data.varying) add(key, key, any(order[key]), value => { chosen[key] = value; });
  add("verdict", "verdict", any(["holds", "violated", "inconclusive"]), value => { chosen.verdict = value; });
}

function square(cell) {
  if (!cell) return make("td");
  const entry = entryOf(cell);
  return make("td", {}, make("button", {type: "button", class: entry.verdict, "data-cell": cell.number, tabindex: "-1",
    "aria-pressed": String(cell.number === opened), "aria-label": `${mark(entry)} ${settings(cell)}: ${entry.verdict}`, title: settings(cell),
    onclick: () => show(cell.number, true), onfocus: event => rove(event.target)}, mark(entry)));
}

/* One cell of the matrix is in the tab order, the arrow keys reach the others. */
function rove(button) {
  for (const each of document.querySelectorAll("#map button[tabindex='0']")) each.tabIndex = -1;
  button.tabIndex = 0;
}

/* A row of heads: the values of a key, each over the columns that share it and what stands above it. */
function heads(key, keys, columns, width) {
  const found = [];
  for (const column of columns) {
    const last = found[found.length - 1];
    if (last && last.name === nameOf(column, keys)) last.count += 1;
    else found.push({name: nameOf(column, keys), value: text(column[key]), count: 1});
  }
  return make("tr", {}, make("th", {scope: "row", class: "key", title: key, colspan: Math.max(width, 1)}, short(key)),
    ...found.map(each => make("th", {scope: each.count > 1 ? "colgroup" : "col", colspan: each.count}, each.value)));
}

/* What a filter hides is not left open. */
function close() {
  opened = null;
  document.getElementById("cell").replaceChildren(make("p", {class: "dim"}, "The verdict that was open is hidden by what was chosen above; open another one."));
}

function map() {
  const cells = data.cells.map((cell, number) => ({...cell, number})).filter(cell =>
    data.varying.every(key => !chosen[key] || text(cell.cell[key]) === chosen[key]) &&
    (!chosen.verdict || entryOf(cell).verdict === chosen.verdict));
  document.getElementById("shown").textContent = `${cells.length} of ${data.cells.length} cells shown`;
  const {across, down} = axes(cells);
  const rows = distinct(cells, down), columns = distinct(cells, across);
  const at = new Map(cells.map(cell => [nameOf(cell.cell, down) + "\u0001" + nameOf(cell.cell, across), cell]));
  /* On a narrow screen a row has one head; what the rows below share stands above them. */
  const above = isNarrow ? down.slice(0, -1) : [], beside = down.slice(above.length);
  const named = down.length ? make("tr", {}, ...beside.map(key => make("th", {scope: "col", title: key}, short(key))), make("td", {colspan: columns.length})) : null;
  const head = make("thead", {}, ...across.map((key, place) => heads(key, across.slice(0, place + 1), columns, beside.length)), named);
  const shared = (row, before) => above.length && !(before && nameOf(row, above) === nameOf(before, above))
    ? [make("tr", {}, make("th", {scope: "rowgroup", class: "shared", colspan: beside.length + columns.length}, above.map(key => `${short(key)} ${text(row[key])}`).join(" · ")))] : [];
  const line = row => make("tr", {}, ...(down.length ? beside.map(key => make("th", {scope: "row"}, text(row[key]))) : [make("td")]),
    ...columns.map(column => square(at.get(nameOf(row, down) + "\u0001" + nameOf(column, across)))));
  const body = make("tbody", {}, ...rows.flatMap((row, place) => [...shared(row, rows[place - 1]), line(row)]));
  document.getElementById("map").replaceChildren(head, body);
  if (opened !== null && !cells.some(each => each.number === opened)) close();
  const entry = document.querySelector("#map button[aria-pressed=true]") || document.querySelector("#map button");
  if (entry) rove(entry);
}
/* Without keys that vary: a row per configuration, a column per property; of one configuration a row per property. */
function verdicts() {
  const button = (cell, number, each) => make("td", {}, make("button", {type: "button", class: each.verdict, "data-cell": number, "data-property": each.name, tabindex: "-1",
    "aria-label": `${mark(each)} ${cell.name}, ${each.name}: ${each.verdict}`, title: cell.scope, onfocus: event => rove(event.target),
    onclick: () => { property = each.name; show(number, true); }}, mark(each)));
  const head = names => make("thead", {}, make("tr", {}, ...names.map(name => make("th", {scope: "col"}, name))));
  const row = (name, title, ...squares) => make("tr", {}, make("th", {scope: "row", title}, name), ...squares);
  const listed = data.cells.length > 1
    ? [head(["configuration", ...names]), data.cells.map((cell, number) => row(cell.name, cell.scope,
      ...names.map(name => cell.properties.find(one => one.name === name)).map(each => each ? button(cell, number, each) : make("td"))))]
    : [head(["property", data.cells[0].name]), data.cells[0].properties.map(each => row(each.name, each.says, button(data.cells[0], 0, each)))];
  document.getElementById("map").replaceChildren(listed[0], make("tbody", {}, ...listed[1]));
  const entry = document.querySelector("#map button");
  if (entry) rove(entry);
}
document.getElementById("map").addEventListener("keydown", event => {
  const cell = event.target.closest("td");
  if (!cell) return;
  const row = cell.parentElement, column = [...row.children].indexOf(cell);
  const toward = {ArrowUp: "previousElementSibling", ArrowDown: "nextElementSibling"}[event.key];
  let line = toward && row[toward];
  while (line && !line.querySelector("td")) line = line[toward];
  const next = {ArrowLeft: cell.previousElementSibling, ArrowRight: cell.nextElementSibling}[event.key] || (line && line.children[column]);
  const button = next && next.querySelector("button");
  if (button) { event.preventDefault(); button.focus(); }
});

/* A counterexample, and the same steps under the nearest safe setting beside it. */
const known = each => make("div", {class: each.stale ? "stale" : "dim"}, each.says);
function lane(each) {
  return make("div", {class: "lane" + (each.changed ? " changed" : "")}, make("b", {}, `broker ${each.broker}`),
    known(each.role),
    ...each.log.map((record, offset) => make("span", {class: "record" + (each.hw !== null && offset < each.hw ? " safe" : "")}, `m${record}`)),
    ...each.lost.map(record => make("span", {class: "record gone"}, `m${record} lost`)),
    make("div", {class: "dim"}, `LEO=${each.log.length}` + (each.hw === null ? "" : ` · HW=${each.hw}`)), ...each.knows.map(known));
}
const lanes = frame => make("div", {class: "lanes"},
  make("div", {class: "lane" + (frame.moved ? " changed" : "")}, make("b", {}, frame.authority), ...frame.controller.map(known)),
  ...frame.lanes.map(lane));
const frameOf = (timeline, number) => data.frames[timeline.frames[Math.min(number, timeline.frames.length - 1)]];

function lastFrame(timeline) {
  return make("p", {class: "badge violated", style: "white-space: normal"}, timeline.title);
}

function safeSide(comparison, sibling) {
  const isRefused = comparison.refused && step >= comparison.refused.step, differs = comparison.differs && step >= comparison.differs.step;
  const box = make("div", {class: "behaviour safe" + (isRefused ? " over" : "")}, make("h3", {}, "The same steps with ", changes(sibling)), lanes(frameOf(comparison, step)));
  if (isRefused) box.append(make("p", {class: "divergence"}, make("b", {}, `Step ${comparison.refused.step} is refused here: `), make("code", {}, comparison.refused.clause)));
  if (differs) box.append(make("p", {class: "divergence"}, make("b", {}, comparison.differs.step ? `Different since step ${comparison.differs.step}: ` : "Different from the initial state on: "), comparison.differs.says.join("; ")));
  if (!comparison.refused && step >= comparison.frames.length - 1) box.append(make("p", {class: "divergence"}, make("b", {}, "The same steps leave nothing lost here.")));
  return box;
}

function changes(sibling) {
  return make("span", {}, ...Object.entries(sibling.changed).flatMap(([key, [from, to]], place) =>
    [place ? ", " : "", make("code", {}, `${key}=${text(to)}`), ` (not ${text(from)})`]));
}

function stepper(timeline, comparison, sibling) {
  const last = timeline.frames.length - 1;
  const box = make("div", {class: "stepper", tabindex: "0", role: "group", "aria-label": "counterexample, step by step; arrow keys, Home and End step"});
  const draw = () => {
    const frame = frameOf(timeline, step);
    const bar = make("div", {class: "step"},
      make("button", {type: "button", class: "act", onclick: () => go(step - 1), disabled: step === 0, "aria-label": "previous step"}, "←"),
      make("button", {type: "button", class: "act", onclick: () => go(step + 1), disabled: step === last, "aria-label": "next step"}, "→"),
      make("span", {class: "dim", "data-step": step}, `step ${step} of ${last}`));
    const broken = make("div", {class: comparison ? "behaviour broken" : ""}, comparison ? make("h3", {}, "This setting") : null, lanes(frame), step === last ? lastFrame(timeline) : null);
    box.replaceChildren(bar, make("div", {class: "says" + (frame.fault ? " fault" : ""), "aria-live": "polite"}, (frame.fault ? "⚡ " : "") + frame.says),
      make("div", {class: comparison ? "behaviours" : ""}, broken, comparison ? safeSide(comparison, sibling) : null));
    const items = box.parentElement ? box.parentElement.querySelectorAll("ol.all li") : [];
    items.forEach((item, number) => number + 1 === step ? item.setAttribute("aria-current", "step") : item.removeAttribute("aria-current"));
    for (const row of document.querySelectorAll("#cell [data-row]")) row.classList.toggle("now", Number(row.dataset.row) === step && step > 0);
  };
  const go = to => {
    step = Math.max(0, Math.min(last, to));
    const had = document.activeElement;
    draw();
    if (had && had !== box && !document.contains(had)) box.focus();
  };
  box.addEventListener("keydown", event => {
    const to = {ArrowLeft: step - 1, ArrowRight: step + 1, Home: 0, End: last}[event.key];
    if (to !== undefined) { event.preventDefault(); go(to); box.focus(); }
  });
  draw();
  return box;
}

function allSteps(timeline, comparison) {
  const said = number => {
    if (!comparison) return null;
    if (comparison.refused && comparison.refused.step === number) return make("small", {}, "refused in the safe setting: ", make("code", {}, comparison.refused.clause));
    if (comparison.differs && comparison.differs.step === number) return make("small", {}, "different in the safe setting: " + comparison.differs.says.join("; "));
    return null;
  };
  const moment = number => timeline.moments[number] ? make("b", {class: "moment"}, ` ${timeline.moments[number]}`) : null;
  return make("details", {open: isNarrow || !timeline.diagram || Boolean(comparison)}, make("summary", {}, "All steps"), make("ol", {class: "all"},
    ...timeline.frames.slice(1).map((frame, number) => make("li", {class: data.frames[frame].fault ? "fault" : false},
      (data.frames[frame].fault ? "⚡ " : "") + data.frames[frame].says, moment(number + 1), said(number + 1)))),
    ...timeline.still_held.map(each => make("p", {}, each[0].toUpperCase() + each.slice(1) + ".")));
}

function siblingLine(entry) {
  if (!data.varying.length) return null;
  if (!entry.sibling) return make("p", {class: "dim"}, "No cell of this matrix holds under the same faults.");
  const other = data.cells.findIndex(each => each.id === entry.sibling.id);
  return make("p", {id: "sibling"}, "Nearest safe cell: ", changes(entry.sibling), " ",
    other >= 0 ? make("button", {type: "button", class: "act", onclick: () => show(other, true)}, "open it") : null);
}

function cite(cell, entry) {
  const plain = entry.says, key = (cell.id || "neverlost").replace(/[^a-z0-9-]/gi, "");
  const escaped = value => value.replace(/[{}]/g, "").replace(/([_&%#$])/g, "\\$1");
  const forms = {plain, Markdown: "> " + plain.replace(cell.id, "`" + cell.id + "`"),
    BibTeX: `@misc{${key},\n  title = {${escaped(entry.name)}: ${entry.verdict}},\n  howpublished = {neverlost ${data.version}},\n  note = {${escaped(plain)}}\n}`};
  const area = make("textarea", {class: "sentence", readonly: true, rows: 5, "aria-label": "citation"});
  area.value = plain;
  return make("div", {id: "cite"}, make("h3", {}, "Cite this"), make("div", {class: "step"}, ...Object.entries(forms).map(([name, value]) =>
    make("button", {type: "button", class: "act", onclick: () => { area.value = value; area.select(); }}, name))), area);
}

/* The other properties of a cell, a chip each; one opens its property, in the matrix too. */
function others(cell, entry, number) {
  const open = name => {
    const filter = document.querySelector("[data-filter=property]");
    property = name;
    if (filter) { filter.value = name; map(); }
    show(number, true);
  };
  return make("div", {class: "chips", role: "group", "aria-label": "other properties"}, make("span", {class: "dim"}, "Also checked:"), ...cell.properties.filter(each => each !== entry).map(each =>
    make("button", {type: "button", class: each.verdict, title: each.says, "aria-label": `${each.name} ${mark(each)}: ${each.verdict}`,
      onclick: () => open(each.name)}, `${each.name} ${mark(each)}`)));
}

const HOW = {"same system": "Decided as another cell whose system is the same.",
  replayed: "The counterexample of a cell with fewer faults, run again under this configuration."};

function show(number, focus) {
  const cell = data.cells[number], entry = entryOf(cell), box = document.getElementById("cell");
  opened = number;
  step = 0;
  for (const each of document.querySelectorAll("#map button"))
    each.setAttribute("aria-pressed", String(Number(each.dataset.cell) === number && (each.dataset.property || property) === property));
  const parts = [make("h2", {}, make("span", {class: "badge " + entry.verdict}, entry.verdict), " " + entry.name)];
  for (const each of cell.notices)
    parts.push(make("p", {class: each.matters ? "notice" : "dim"}, make("b", {}, `${each.kind}: `), each.says));
  if (cell.settings.length) parts.push(make("details", {id: "settings"}, make("summary", {}, "Where the settings come from"),
    make("ul", {}, ...cell.settings.map(each => make("li", {}, make("code", {}, `${each.key}=${each.value}`), ` ${each.source}`)))));
  if (entry.how !== "explored") parts.push(make("p", {class: "dim"}, HOW[entry.how] || entry.how));
  if (cell.properties.length > 1) parts.push(others(cell, entry, number));
  if (entry.timeline !== undefined && entry.timeline !== null) {
    const timeline = data.timelines[entry.timeline], comparison = entry.comparison === undefined || entry.comparison === null ? null : data.comparisons[entry.comparison];
    parts.push(siblingLine(entry), diagram(timeline), make("div", {}, stepper(timeline, comparison, entry.sibling), allSteps(timeline, comparison)));
  }
  parts.push(cite(cell, entry));
  box.replaceChildren(...parts.filter(Boolean));
  if (focus) {
    (box.querySelector(".stepper") || box).focus({preventScroll: true});
    box.scrollIntoView({block: "start"});
  }
}

/* Described topics: a card for each answer. */
const MOST_NAMES = isNarrow ? 3 : 6;
function groups() {
  const form = document.getElementById("find");
  const field = {topic: document.getElementById("topic"), only: document.getElementById("only"), order: document.getElementById("order")};
  for (const [name, input] of Object.entries(field)) {
    if (asked.get(name)) input.value = asked.get(name);
    input.addEventListener("input", () => {
      ask(name, name === "order" && input.value === "worst" ? "" : input.value);
      cards();
    });
  }
  form.addEventListener("submit", event => event.preventDefault());
  const cards = () => {
    const text = field.topic.value.trim().toLowerCase();
    const found = data.groups.map(each => ({...each, shown: each.topics.filter(([name]) => name.toLowerCase().includes(text))}))
      .filter(each => each.shown.length && (!field.only.value || each.verdict === field.only.value));
    const orders = {most: (a, b) => b.shown.length - a.shown.length, name: (a, b) => a.shown[0][0].localeCompare(b.shown[0][0])};
    if (field.order.value in orders) found.sort(orders[field.order.value]);
    const distinct = list => new Set(list.map(([name]) => name.split(" (")[0])).size;
    const topics = distinct(found.flatMap(each => each.shown)), all = distinct(data.groups.flatMap(each => each.topics));
    document.getElementById("found").textContent = found.length
      ? `${topics} of ${all} topics in ${found.length} answer${found.length === 1 ? "" : "s"}` : "No topic is called so, with this verdict. Empty the search, or choose any verdict.";
    if (opened !== null && !found.some(each => each.shown.some(([, number]) => number === opened))) close();
    document.getElementById("groups").replaceChildren(...found.map(each => card(each, text !== "")));
  };
  cards();
}
const opener = ([name, number]) => make("button", {type: "button", class: "link", onclick: () => show(number, true)}, name);
function card(group, searched) {
  const names = list => make("ul", {class: "names"}, ...list.map(each => make("li", {}, opener(each))));
  const rest = group.shown.slice(MOST_NAMES), remedy = group.remedy;
  const which = make("div", {}, make("h3", {}, make("span", {class: "badge " + group.verdict}, group.verdict),
    `${group.shown.length} topic${group.shown.length === 1 ? "" : "s"}`), make("p", {class: "dim"}, group.settings), names(group.shown.slice(0, MOST_NAMES)));
  if (rest.length) {
    const more = make("details", {}, make("summary", {}, `${rest.length} more`));
    more.addEventListener("toggle", () => { if (more.open && more.children.length < 2) more.append(names(rest)); });
    if (searched && rest.length < 200) { more.open = true; more.append(names(rest)); }
    which.append(more);
  }
  const why = make("div", {});
  if (group.cause) why.append(make("p", {}, make("b", {}, "How: "), group.cause));
  if (remedy.length) {
    why.append(make("p", {}, make("b", {}, remedy[0])), ...remedy.slice(1).map(each => make("p", {}, each)));
    if (group.commands.length) why.append(make("details", {open: group.commands.length < 4},
      make("summary", {}, `${group.commands.length} command${group.commands.length === 1 ? "" : "s"}`), make("pre", {}, group.commands.join("\n"))));
  }
  if (group.verdict === "violated") why.append(make("p", {}, make("button", {type: "button", class: "act", onclick: () => show(group.shown[0][1], true)}, "Show how, step by step")));
  for (const each of group.notices.slice(0, 3)) why.append(make("p", {class: "notice"}, each));
  if (group.notices.length > 3) why.append(make("details", {}, make("summary", {}, `${group.notices.length - 3} more notes`),
    ...group.notices.slice(3).map(each => make("p", {class: "notice"}, each))));
  return make("li", {class: "group is-" + group.verdict}, which, why);
}

function diagram(timeline) {
  if (!timeline.diagram) return null;
  const box = make("div", {class: "spacetime-box", tabindex: "0", role: "region", "aria-label": "space-time diagram"});
  box.innerHTML = timeline.diagram;
  return box;
}

if (data.groups.length) groups();
if (data.varying.length) { filters(); map(); } else verdicts();
/* The first look is worth most at a loss that one setting prevents. */
const isOneSetting = entry => entry && entry.sibling && Object.keys(entry.sibling.changed).length === 1 && entry.comparison !== null && data.comparisons[entry.comparison].refused;
const isShown = number => !data.varying.length || document.querySelector(`#map [data-cell='${number}']`);
const shown = wanted => data.cells.findIndex((cell, number) => isShown(number) && entryOf(cell) && wanted(entryOf(cell)));
const worst = [isOneSetting, entry => entry.verdict === "violated", () => true].map(shown).find(number => number >= 0);
const first = data.groups.length ? data.groups[0].topics[0][1] : worst;
if (data.properties.length && first !== undefined) show(first, false);
