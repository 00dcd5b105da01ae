// Tables that sort and filter, what a mark is under the pointer, and the page of a run that goes on.

// "52.0 us" counts as a time, "1.5 %" as a number, anything else as text.
const units = {ns: 1e-6, us: 1e-3, ms: 1, s: 1e3, min: 6e4};
const key = (text) => {
  const found = /^(-?[\d.]+(?:e[+-]?\d+)?)(?: (ns|us|ms|s|min|%))?$/.exec(text);
  return found ? Number(found[1]) * (units[found[2]] || 1) : null;
};
const before = (a, b) => {
  const x = key(a), y = key(b);
  if (x !== null && y !== null) return x - y;
  if ((x === null) !== (y === null)) return x === null ? 1 : -1;
  return a < b ? -1 : a > b ? 1 : 0;
};
// Each word must be in a cell, or, as NAME=value, be the cell of that column.
const matches = (words, names, cells) => words.every((word) => {
  const at = word.indexOf("="), column = at > 0 ? names.indexOf(word.slice(0, at)) : -1;
  return column >= 0 ? cells[column] === word.slice(at + 1) : cells.some((cell) => cell.includes(word));
});

const sortable = (table, kept) => {
  const body = table.tBodies[0], heads = [...table.tHead.rows[0].cells], rows = [...body.rows];
  const sort = (column, down) => {
    for (const other of heads) other.setAttribute("aria-sort", "none");
    heads[column].setAttribute("aria-sort", down ? "descending" : "ascending");
    const cell = (row) => row.cells[column].textContent;
    // Empty cells stay last whichever way.
    rows.sort((a, b) => (cell(a) === "") - (cell(b) === "") || (down ? before(cell(b), cell(a)) : before(cell(a), cell(b))));
    body.append(...rows);
  };
  heads.forEach((head, column) => {
    const button = element("button", {type: "button", textContent: head.textContent});
    head.replaceChildren(button);
    head.setAttribute("aria-sort", "none");
    button.addEventListener("click", () => {
      kept.set("sort", [column, head.getAttribute("aria-sort") === "ascending"]);
      sort(...kept.get("sort"));
    });
  });
  if (kept.has("sort") && kept.get("sort")[0] < heads.length) sort(...kept.get("sort"));
  if (rows.length < 6) return;
  const input = element("input", {type: "search", placeholder: "words, or NAME=value", value: kept.get("filter") ?? ""});
  const count = element("output");
  count.setAttribute("aria-live", "polite");
  table.parentElement.before(element("div", {className: "filter"}, element("label", {}, "Filter ", input), count));
  const names = heads.map((head) => head.textContent.toLowerCase());
  const filter = () => {
    kept.set("filter", input.value);
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const row of rows) {
      const fits = matches(words, names, [...row.cells].map((cell) => cell.textContent.toLowerCase()));
      row.hidden = !fits;
      shown += fits;
    }
    count.value = words.length ? shown + " of " + rows.length : "";
  };
  input.addEventListener("input", filter);
  filter();
};

addEventListener("beforeprint", () => {
  for (const part of document.querySelectorAll("details")) part.open = true;
});

const tip = element("div", {className: "tip", hidden: true});
tip.setAttribute("aria-hidden", "true");
document.body.append(tip);
const showTip = (event, text) => {
  tip.hidden = !text;
  if (!text) return;
  tip.textContent = text;
  const left = Math.min(event.clientX + 14, innerWidth - tip.offsetWidth - 8);
  const below = event.clientY + 18 + tip.offsetHeight < innerHeight;
  tip.style.left = Math.max(8, left) + "px";
  tip.style.top = (below ? event.clientY + 18 : event.clientY - tip.offsetHeight - 12) + "px";
};

const near = 12;
const tellMarks = (svg, data, rows) => {
  const marks = [];
  for (const path of svg.querySelectorAll("path[data-r]")) {
    const numbers = path.dataset.r.split(" ");
    path.getAttribute("d").split("M").slice(1).forEach((text, i) => {
      const places = text.match(/-?[\d.]+/g).map(Number), wide = text.includes("h") ? places[2] : 0;
      marks.push({x: places[0], wide, y: places[1] + (text.includes("v") ? places[2] / 2 : 0), row: Number(numbers[i])});
    });
  }
  if (!marks.length) return;
  // The browser's own tip for the plot's title would cover the one for a mark.
  const title = svg.querySelector(":scope > title");
  svg.setAttribute("aria-label", title.textContent);
  title.remove();
  svg.addEventListener("pointermove", (event) => {
    const at = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
    let best = null, least = near * near;
    for (const mark of marks) {
      const away = Math.max(mark.x - at.x, 0, at.x - mark.x - mark.wide);
      const distance = away * away + (mark.y - at.y) * (mark.y - at.y);
      if (distance < least) least = distance, best = mark;
    }
    showTip(event, best && tipOf(data, rows[best.row]));
  });
  svg.addEventListener("pointerleave", (event) => showTip(event, null));
};

// What the user chose, by the part of the page.
const choices = new Map();
const choicesOf = (name) => {
  if (!choices.has(name)) choices.set(name, new Map());
  return choices.get(name);
};

const start = () => {
  document.querySelectorAll("table.sortable").forEach((table, number) => sortable(table, choicesOf("table " + number)));
  for (const section of document.querySelectorAll("section.case")) {
    const data = JSON.parse(section.querySelector("script.rows").textContent), rows = rowsOf(data);
    for (const svg of section.querySelectorAll("svg")) tellMarks(svg, data, rows);
    explore(section, data, choicesOf(section.id));
  }
};
start();

// A run that goes on serves this page again and again; what the user has chosen or opened stays.
const follow = async () => {
  const root = document.documentElement, wait = 1000;
  let tag = "";
  while (root.dataset.live === "running") {
    await new Promise((done) => setTimeout(done, wait));
    let answer;
    try {
      answer = await fetch(location.href, {cache: "no-store", headers: tag ? {"If-None-Match": tag} : {}});
    } catch {
      root.dataset.live = "lost";
      document.querySelector(".live").textContent = "The run no longer answers: it has ended, or was stopped. This page shows its last state.";
      return;
    }
    if (answer.status !== 200) continue;
    const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
    const open = new Set([...document.querySelectorAll("details[open] summary")].map((one) => one.textContent));
    const [left, top, focus] = [scrollX, scrollY, document.activeElement];
    // Who types or chooses is not disturbed.
    if (focus && focus.closest("main") && ["INPUT", "SELECT"].includes(focus.tagName) && fresh.documentElement.dataset.live === "running") continue;
    tag = answer.headers.get("ETag") ?? "";
    document.querySelector("main").replaceWith(fresh.querySelector("main"));
    root.dataset.live = fresh.documentElement.dataset.live;
    for (const one of document.querySelectorAll("details")) one.open = open.has(one.querySelector("summary").textContent);
    start();
    scrollTo(left, top);
  }
};
follow();
