"use strict";
(() => {
const make = (name, words) => Object.assign(document.createElement(name), words);

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

for (const table of document.querySelectorAll("table.sortable")) {
  const body = table.tBodies[0], heads = [...table.tHead.rows[0].cells], rows = [...body.rows];
  heads.forEach((head, column) => {
    const button = make("button", {type: "button", textContent: head.textContent});
    head.replaceChildren(button);
    head.setAttribute("aria-sort", "none");
    button.addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") === "ascending";
      for (const other of heads) other.setAttribute("aria-sort", "none");
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const cell = (row) => row.cells[column].textContent;
      // Empty cells stay last whichever way.
      rows.sort((a, b) => (cell(a) === "") - (cell(b) === "") || (down ? before(cell(b), cell(a)) : before(cell(a), cell(b))));
      body.append(...rows);
    });
  });
  if (rows.length < 6) continue;
  const label = make("label", {textContent: "Filter "});
  const input = make("input", {type: "search", placeholder: "words, or NAME=value"});
  const count = make("output");
  count.setAttribute("aria-live", "polite");
  label.append(input);
  const bar = make("div", {className: "filter"});
  bar.append(label, count);
  table.parentElement.before(bar);
  const names = heads.map((head) => head.textContent.toLowerCase());
  input.addEventListener("input", () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const row of rows) {
      const cells = [...row.cells].map((cell) => cell.textContent.toLowerCase());
      const fits = words.every((word) => {
        const at = word.indexOf("="), column = at > 0 ? names.indexOf(word.slice(0, at)) : -1;
        return column >= 0 ? cells[column] === word.slice(at + 1) : cells.some((cell) => cell.includes(word));
      });
      row.hidden = !fits;
      shown += fits;
    }
    count.value = words.length ? shown + " of " + rows.length : "";
  });
}

addEventListener("beforeprint", () => {
  for (const part of document.querySelectorAll("details")) part.open = true;
});

const tip = make("div", {className: "tip", hidden: true});
tip.setAttribute("aria-hidden", "true");
document.body.append(tip);
const near = 12;
for (const section of document.querySelectorAll("section.case")) {
  const data = JSON.parse(section.querySelector("script.rows").textContent);
  const words = (row) => {
    const end = row.length, parts = data.p.map((name, i) => row[i] < 0 ? null : name + "=" + data.v[i][row[i]]);
    return [row[end - 1], parts.filter(Boolean).join("  "), data.m[row[end - 2]]].filter(Boolean).join("\n");
  };
  for (const svg of section.querySelectorAll("svg")) {
    const marks = [];
    for (const path of svg.querySelectorAll("path[data-r]")) {
      const rows = path.dataset.r.split(" ");
      path.getAttribute("d").split("M").slice(1).forEach((text, i) => {
        const numbers = text.match(/-?[\d.]+/g).map(Number), wide = text.includes("h") ? numbers[2] : 0;
        marks.push({x: numbers[0], wide, y: numbers[1] + (text.includes("v") ? numbers[2] / 2 : 0), row: Number(rows[i])});
      });
    }
    if (!marks.length) continue;
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
      tip.hidden = !best;
      if (!best) return;
      tip.textContent = words(data.r[best.row]);
      const left = Math.min(event.clientX + 14, innerWidth - tip.offsetWidth - 8);
      const below = event.clientY + 18 + tip.offsetHeight < innerHeight;
      tip.style.left = Math.max(8, left) + "px";
      tip.style.top = (below ? event.clientY + 18 : event.clientY - tip.offsetHeight - 12) + "px";
    });
    svg.addEventListener("pointerleave", () => { tip.hidden = true; });
  }
}
})();
