"use strict";
// The measured points of a case against chosen axes, parallel coordinates, the chosen point, and two runs compared.

const element = (name, words, ...children) => {
  const made = Object.assign(document.createElement(name), words);
  made.append(...children);
  return made;
};
// Wherever a script has something to draw, there are plots in the page already.
const shape = (parent, name, words) => {
  const made = document.createElementNS(document.querySelector("svg").namespaceURI, name);
  for (const [key, value] of Object.entries(words)) made.setAttribute(key, value);
  parent.append(made);
  return made;
};
const word = (parent, x, y, anchor, text) => {
  shape(parent, "text", {x, y, "text-anchor": anchor}).textContent = text;
};
const short = (value) => Number(value.toPrecision(4)).toString();
const isFailure = (outcome) => outcome !== "ok" && outcome !== "pruned";

// An axis over numbers, or over the values of a parameter. of(row): null where the row has none.
const numberAxis = (data, index) => ({
  name: data.q[index],
  of: (row) => row.numbers[index],
  text: short,
  scale(rows, logarithmic) {
    const values = rows.map(this.of).filter((value) => value !== null);
    const log = logarithmic && values.every((value) => value > 0);
    const by = log ? Math.log10 : (value) => value;
    let low = Math.min(...values.map(by)), high = Math.max(...values.map(by));
    if (!values.length) low = 0, high = 1;
    if (high - low < 1e-12) low -= 0.5, high += 0.5;
    const margin = (high - low) * 0.04, ticks = [];
    const part = (at) => (at - low + margin) / (high - low + 2 * margin);
    if (log && high - low > 0.5) {
      for (let power = Math.floor(low); power <= high; ++power)
        for (const digit of high - low > 3 ? [1] : [1, 2, 5])
          if (Math.log10(digit) + power >= low && Math.log10(digit) + power <= high) ticks.push(Math.log10(digit) + power);
    } else {
      const rough = (high - low) / 5, power = 10 ** Math.floor(Math.log10(rough));
      const step = [1, 2, 5, 10].map((one) => one * power).find((one) => one >= rough);
      for (let at = Math.ceil(low / step) * step; at <= high + step * 1e-9; at += step) ticks.push(Math.abs(at) < step * 1e-9 ? 0 : at);
    }
    return {at: (value) => part(by(value)), ticks: ticks.map((at) => [part(at), short(log ? 10 ** at : at)])};
  },
});
const valueAxis = (data, index) => ({
  name: data.p[index],
  of: (row) => row.levels[index] < 0 ? null : row.levels[index],
  text: (level) => data.v[index][level],
  scale() {
    const count = data.v[index].length, every = Math.ceil(count / 16);
    const at = (level) => (level + 0.5) / count;
    return {at, ticks: data.v[index].map((text, level) => [at(level), text]).filter((_, level) => level % every === 0)};
  },
});

const rowsOf = (data) => {
  const count = data.p.length;
  return data.r.map((row, number) => ({
    number, levels: row.slice(0, count), outcome: data.o[row[count]], message: data.m[row[count + 1]],
    text: row[count + 2], run: row[count + 3], numbers: row[count + 4],
  }));
};
const configurationOf = (data, row) =>
  data.p.map((name, i) => row.levels[i] < 0 ? null : name + "=" + data.v[i][row.levels[i]]).filter(Boolean).join("  ");
const tipOf = (data, row) => [row.text, configurationOf(data, row), row.message].filter(Boolean).join("\n");

const colours = 6;
// Classes of marks by outcome, by run, or by a parameter's value; legend: [class, text].
const colouring = (data, rows, by) => {
  if (by === "outcome") {
    const style = (row) => row.outcome === "ok" ? "ok" : row.outcome === "pruned" ? "pruned" : "bad";
    return {style, legend: [["ok", "measured in full"], ["pruned", "dropped early"], ["bad", "failed"]]};
  }
  const names = by === "run" ? data.runs : data.v[data.p.indexOf(by)];
  const value = by === "run" ? (row) => row.run : (row) => row.levels[data.p.indexOf(by)];
  const last = names.length > colours ? colours - 1 : colours;
  return {
    style: (row) => "c" + Math.max(0, Math.min(value(row), last)),
    legend: names.slice(0, last).map((name, i) => ["c" + i, (by === "run" ? "" : by + "=") + name])
      .concat(names.length > last ? [["c" + last, "others"]] : []),
  };
};

// Marks that can be pointed at, clicked, and walked through by the arrow keys.
const selectable = (svg, marks, data, choose) => {
  const nearest = (event) => {
    const at = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
    let best = null, least = 14 * 14;
    for (const mark of marks()) {
      const distance = (mark.x - at.x) ** 2 + (mark.y - at.y) ** 2;
      if (distance <= least) least = distance, best = mark;
    }
    return best;
  };
  svg.addEventListener("pointermove", (event) => {
    const mark = nearest(event);
    showTip(event, mark && tipOf(data, mark.row));
  });
  svg.addEventListener("pointerleave", (event) => showTip(event, null));
  svg.addEventListener("click", (event) => {
    const mark = nearest(event);
    if (mark) choose(mark.row);
  });
  let walked = -1;
  svg.addEventListener("keydown", (event) => {
    const step = {ArrowRight: 1, ArrowLeft: -1}[event.key], list = [...marks()].sort((a, b) => a.x - b.x || a.y - b.y);
    if (!step || !list.length) return;
    event.preventDefault();
    walked = (walked + step + list.length) % list.length;
    choose(list[walked].row);
  });
};

const edges = {height: 380, left: 76, right: 16, top: 34, bottom: 46};

// Rows without a value on the axis Y are drawn above it.
const drawPoints = (svg, width, rows, x, y, logX, logY, style, chosen) => {
  svg.replaceChildren();
  const {height, left, right, top, bottom} = edges;
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  const known = rows.filter((row) => x.of(row) !== null);
  const across = x.scale(known, logX), up = y.scale(known, logY);
  const placeX = (part) => left + part * (width - left - right), placeY = (part) => height - bottom - part * (height - top - bottom);
  for (const [part, text] of up.ticks) {
    shape(svg, "path", {class: "grid", d: `M${left} ${placeY(part)}H${width - right}`});
    word(svg, left - 8, placeY(part) + 4, "end", text);
  }
  for (const [part, text] of across.ticks) {
    shape(svg, "path", {class: "axis", d: `M${placeX(part)} ${height - bottom}v4`});
    word(svg, placeX(part), height - bottom + 18, "middle", text);
  }
  shape(svg, "path", {class: "axis", d: `M${left} ${height - bottom}H${width - right}`});
  word(svg, (left + width - right) / 2, height - 6, "middle", x.name);
  word(svg, 0, 12, "start", y.name);
  const placeOf = (row) => y.of(row) === null ? top - 12 : placeY(up.at(y.of(row)));
  if (known.some((row) => y.of(row) === null)) word(svg, left - 8, top - 8, "end", "none");
  const order = {bad: 0, pruned: 1};
  const marks = known.map((row) => ({row, x: placeX(across.at(x.of(row))), y: placeOf(row)}));
  marks.sort((a, b) => (order[style(a.row)] ?? 2) - (order[style(b.row)] ?? 2));
  for (const mark of marks) shape(svg, "path", {class: "dots mid " + style(mark.row), d: `M${mark.x} ${mark.y}h0`});
  for (const mark of marks)
    if (chosen.includes(mark.row.number)) shape(svg, "circle", {class: "chosen", cx: mark.x, cy: mark.y, r: 7});
  return marks;
};

// Lines through the values of each configuration, best on top. A range dragged on an axis keeps the lines through it.
const drawParallel = (svg, width, data, rows, ranges, changed) => {
  svg.replaceChildren();
  const merit = numberAxis(data, data.merit);
  const axes = data.i.slice(0, 9).map((index) => valueAxis(data, index)).concat(merit);
  const measured = rows.filter((row) => row.outcome === "ok" && merit.of(row) !== null);
  measured.sort((a, b) => data.up ? merit.of(a) - merit.of(b) : merit.of(b) - merit.of(a));
  const height = 300, top = 36, bottom = 14;
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  const placeX = (i) => 40 + i * (width - 110) / Math.max(1, axes.length - 1);
  const placeY = (part) => height - bottom - part * (height - top - bottom);
  const scales = axes.map((axis) => axis.scale(measured, axis === merit));
  const lines = shape(svg, "g", {class: "lines"});
  measured.forEach((row, place) => {
    const points = axes.map((axis, i) => axis.of(row) === null ? null : `${placeX(i)} ${placeY(scales[i].at(axis.of(row)))}`);
    const rank = Math.floor((measured.length - 1 - place) * 9 / measured.length);
    shape(lines, "path", {class: "q" + rank, d: "M" + points.filter(Boolean).join("L")});
  });
  axes.forEach((axis, i) => {
    shape(svg, "path", {class: "axis", d: `M${placeX(i)} ${top}V${height - bottom}`});
    word(svg, placeX(i), i % 2 ? top - 22 : top - 8, "middle", axis.name);
    for (const [part, text] of scales[i].ticks) word(svg, placeX(i) + 5, placeY(part) + 4, "start", text);
    const range = ranges.get(axis.name);
    const from = range ? placeY(range[1]) : 0, to = range ? placeY(range[0]) : 0;
    if (range) shape(svg, "rect", {class: "range", x: placeX(i) - 6, width: 12, y: from, height: Math.max(1, to - from)});
    const grip = shape(svg, "rect", {class: "grip", x: placeX(i) - 12, width: 24, y: top, height: height - top - bottom});
    const partAt = (event) => {
      const at = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
      return Math.min(1, Math.max(0, (height - bottom - at.y) / (height - top - bottom)));
    };
    grip.addEventListener("pointerdown", (event) => {
      const first = partAt(event);
      const end = (after) => {
        const last = partAt(after);
        if (Math.abs(first - last) < 0.01) ranges.delete(axis.name);
        else ranges.set(axis.name, [Math.min(first, last), Math.max(first, last)]);
        changed();
      };
      addEventListener("pointerup", end, {once: true});
    });
  });
  return (row) => axes.every((axis, i) => {
    const range = ranges.get(axis.name), value = axis.of(row);
    if (!range) return true;
    const part = value === null ? -1 : scales[i].at(value);
    return part >= range[0] && part <= range[1];
  });
};

const tableOf = (caption, titles, rows) => {
  const head = element("tr", {}, ...titles.map((text) => element("th", {textContent: text, scope: "col"})));
  const cells = (row) => row.map((text, i) => i ? element("td", {textContent: text}) : element("th", {textContent: text, scope: "row"}));
  return element("table", {}, element("caption", {textContent: caption}), element("thead", {}, head), element("tbody", {}, ...rows.map((row) => element("tr", {}, ...cells(row)))));
};

// What is known of the chosen point, beside the one that was chosen before it.
const drawChosen = (place, data, rows, chosen) => {
  const list = chosen.map((number) => rows[number]).filter(Boolean).reverse();
  if (!list.length) return place.replaceChildren(element("p", {className: "note", textContent: "Click a point, or walk through them with the arrow keys, to see its configuration; the one before stays beside it."}));
  const lines = [["outcome", (row) => row.outcome]];
  if (data.runs.length > 1) lines.push(["run", (row) => data.runs[row.run]]);
  data.p.forEach((name, i) => lines.push([name, (row) => row.levels[i] < 0 ? "" : data.v[i][row.levels[i]]]));
  data.q.forEach((name, i) => lines.push([name, (row) => row.numbers[i] === null ? "" : short(row.numbers[i])]));
  if (list.some((row) => row.message)) lines.push(["message", (row) => row.message]);
  const made = tableOf("The chosen point", ["", "chosen", "the one before"].slice(0, list.length + 1), lines.map(([name, of]) => [name, ...list.map(of)]));
  made.tBodies[0].querySelectorAll("tr").forEach((row) => {
    if (list.length > 1 && row.cells[1].textContent !== row.cells[2].textContent) row.className = "differs";
  });
  place.replaceChildren(made);
};

const geometricMean = (values) => Math.exp(values.reduce((sum, value) => sum + Math.log(value), 0) / values.length);

// The same configurations in two runs.
const compareRuns = (place, data, rows, first, second) => {
  const of = (run) => {
    const found = new Map();
    for (const row of rows)
      if (row.run === run && row.outcome === "ok" && row.numbers[data.merit] !== null) found.set(row.levels.join(), row);
    return found;
  };
  const a = of(first), b = of(second), both = [...a.keys()].filter((key) => b.has(key));
  const value = (row) => row.numbers[data.merit];
  const bestOf = (found) => [...found.values()].reduce((best, row) => !best || (data.up ? value(row) > value(best) : value(row) < value(best)) ? row : best, null);
  const named = (row) => row ? `${row.text} (${configurationOf(data, row)})` : "none passed";
  const words = [`Best of A: ${named(bestOf(a))}.`, `Best of B: ${named(bestOf(b))}.`];
  const pairs = both.map((key) => ({a: a.get(key), b: b.get(key), ratio: value(b.get(key)) / value(a.get(key))}));
  const usable = pairs.filter((pair) => pair.ratio > 0 && Number.isFinite(pair.ratio));
  if (usable.length)
    words.push(`${usable.length} configurations passed in both: B has ${short(geometricMean(usable.map((pair) => pair.ratio)))} times A's ${data.q[data.merit].split(",")[0]} in geometric mean.`);
  else words.push("No configuration passed in both.");
  usable.sort((x, y) => Math.abs(Math.log(y.ratio)) - Math.abs(Math.log(x.ratio)));
  const made = tableOf("Where they differ most", ["configuration", "A", "B", "B / A"], usable.slice(0, 20).map((pair) => [configurationOf(data, pair.a), pair.a.text, pair.b.text, pair.ratio.toFixed(3)]));
  place.replaceChildren(...words.map((text) => element("p", {textContent: text})));
  if (usable.length) place.append(element("div", {className: "scroll", tabIndex: 0}, made));
};

// kept: the choices of the user, by name; they outlive a page that is loaded again.
const explore = (section, data, kept) => {
  const place = section.querySelector(".explore");
  if (!place) return;
  const rows = rowsOf(data);
  const differs = (_, i) => i === data.merit || new Set(rows.map((row) => row.numbers[i]).filter((value) => value !== null)).size > 1;
  const numbers = data.q.map((_, i) => numberAxis(data, i)), merit = numbers[data.merit];
  const axes = [...numbers.filter(differs), ...data.p.map((_, i) => valueAxis(data, i))];
  const select = (label, name, texts, fallback, changed) => {
    const input = element("select", {}, ...texts.map((text, i) => element("option", {value: String(i), textContent: text})));
    const before = texts.indexOf(kept.get(name));
    input.value = String(before >= 0 ? before : fallback);
    input.addEventListener("change", () => { kept.set(name, texts[input.value]); changed(); });
    return [element("label", {}, label + " ", input), input];
  };
  const check = (label, name, changed) => {
    const input = element("input", {type: "checkbox", checked: kept.get(name) === true});
    input.addEventListener("change", () => { kept.set(name, input.checked); changed(); });
    return [element("label", {}, input, " " + label), input];
  };
  const names = axes.map((axis) => axis.name);
  const shades = ["outcome", ...(data.runs.length > 1 ? ["run"] : []), ...data.p];
  const [xLabel, x] = select("X", "x", names, 0, draw);
  const [yLabel, y] = select("Y", "y", names, axes.indexOf(merit), draw);
  const [byLabel, by] = select("colour", "by", shades, 0, draw);
  const [logXLabel, logX] = check("log X", "logX", draw);
  const [logYLabel, logY] = check("log Y", "logY", draw);
  const only = element("input", {type: "search", placeholder: "words, or NAME=value", value: kept.get("only") ?? ""});
  only.addEventListener("input", () => { kept.set("only", only.value); draw(); });
  const count = element("output");
  count.setAttribute("aria-live", "polite");
  const clear = element("button", {type: "button", textContent: "show all"});
  const svg = shape(element("div"), "svg", {tabindex: 0, role: "img", "aria-label": "Measured points against the chosen axes"});
  const parallel = shape(element("div"), "svg", {role: "img", "aria-label": "Parallel coordinates of the parameters"});
  const legend = element("p", {className: "legend"}), shown = element("div", {className: "shown"});
  shown.setAttribute("aria-live", "polite");
  if (!kept.has("ranges")) kept.set("ranges", new Map());
  if (!kept.has("chosen")) kept.set("chosen", []);
  const ranges = kept.get("ranges");
  let marks = [];
  clear.addEventListener("click", () => { ranges.clear(); only.value = ""; kept.set("only", ""); draw(); });
  const choose = (row) => {
    kept.set("chosen", [...kept.get("chosen").filter((number) => number !== row.number), row.number].slice(-2));
    draw();
  };
  selectable(svg, () => marks, data, choose);
  function draw() {
    const words = only.value.toLowerCase().split(/\s+/).filter(Boolean), titles = data.p.map((name) => name.toLowerCase());
    const asked = rows.filter((row) => matches(words, titles, [...row.levels.map((level, i) => level < 0 ? "" : data.v[i][level].toLowerCase()), row.outcome, row.message.toLowerCase()]));
    const width = Math.max(320, Math.min(1020, place.clientWidth));
    const inRanges = drawParallel(parallel, width, data, asked, ranges, draw);
    const left = asked.filter(inRanges);
    const {style, legend: texts} = colouring(data, rows, shades[by.value]);
    marks = drawPoints(svg, width, left, axes[x.value], axes[y.value], logX.checked, logY.checked, style, kept.get("chosen"));
    legend.replaceChildren(...texts.map(([name, text]) => {
      const item = element("span", {}), sample = shape(item, "svg", {viewBox: "0 0 12 12", "aria-hidden": "true"});
      shape(sample, "path", {class: "dots mid " + name, d: "M6 6h0"});
      item.append(" " + text);
      return item;
    }));
    count.value = `${marks.length} of ${rows.length} points`;
    clear.disabled = left.length === rows.length;
    drawChosen(shown, data, rows, kept.get("chosen"));
  }
  const bar = element("div", {className: "filter"}, xLabel, logXLabel, yLabel, logYLabel, byLabel, element("label", {}, "only ", only), clear, count);
  place.replaceChildren(bar, svg, legend, shown);
  if (data.p.length > 1 && rows.some((row) => row.outcome === "ok"))
    place.append(element("p", {className: "note", textContent: "Parallel coordinates: one line for each configuration, the best darkest. Drag along an axis to keep those that pass there; click it to let go."}), parallel);
  if (data.runs.length > 1) {
    const result = element("div");
    const compare = () => compareRuns(result, data, rows, Number(a.value), Number(b.value));
    const [aLabel, a] = select("A", "runA", data.runs, data.runs.length - 2, compare);
    const [bLabel, b] = select("B", "runB", data.runs, data.runs.length - 1, compare);
    place.append(element("p", {className: "subject", textContent: "Two runs compared"}), element("div", {className: "filter"}, aLabel, bLabel), result);
    compare();
  }
  draw();
};
