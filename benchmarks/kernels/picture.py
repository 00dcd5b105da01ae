"""Pictures of the ratios of results, an SVG file for each kernel: a bar for each result, from the line at 1."""
import html
import math

# The colours of reports (src/report/page/page.css).
STYLE = """:root{--paper:#fff;--ink:#1a1f26;--soft:#59636f;--rule:#dfe4ea;--accent:#0a5fc2;--bad:#b3420a}
@media (prefers-color-scheme:dark){:root{--paper:#12161b;--ink:#e4e8ed;--soft:#9aa5b1;--rule:#2c343d;--accent:#68aefc;--bad:#f09a57}}
text{font:12px system-ui,-apple-system,"Segoe UI",Roboto,"DejaVu Sans",sans-serif;fill:var(--soft)}
.head{font-weight:600;fill:var(--ink)}
.number{fill:var(--ink)}
.grid{stroke:var(--rule)}
.one{stroke:var(--ink)}
.faster{fill:var(--accent)}
.slower{fill:var(--bad)}"""

ROW, MARGIN = 18, 12
# The scale begins at LEFT; names of libraries end at LIBRARY.
LEFT, SCALE, LIBRARY, WIDTH = 270, 300, 705, 800


def label(result):
    """The result's own, or the sizes of its problem with x between them, its types, and other names with their values."""
    if result.label:
        return result.label
    rest = dict(result.problem)
    words = [" x ".join(str(rest.pop(name)) for name in ("M", "N", "K") if name in rest)]
    words += dict.fromkeys(str(rest.pop(name)) for name in ("TYPE", "OUT") if name in rest)
    words += [f"{name}={str(value).lower()}" for name, value in rest.items()]
    text = " ".join(filter(None, words)) or "the spec's problem"
    return text if len(text) <= 46 else text[:45] + "…"


def text(x, y, content, anchor="start", style=""):
    kind = f' class="{style}"' if style else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{kind}>{html.escape(content)}</text>'


def bar(result, place, copy_speed, y):
    """The row of one result. place: the x of a ratio."""
    ratio = result.ratio()
    library = min((time, name) for name, time in result.others_ms.items() if time)[1]
    begin, end = sorted((place(1), place(ratio)))
    style = "faster" if ratio >= 1 else "slower"
    limit = max(result.floors(copy_speed))
    return [
        text(LEFT - 10, y + 13, label(result), "end"),
        f'<rect class="{style}" x="{begin:.1f}" y="{y + 3}" width="{max(end - begin, 1):.1f}" height="{ROW - 6}"/>',
        text(max(end, place(1)) + 6, y + 13, f"{ratio:.2f}", style="number"),
        text(LIBRARY, y + 13, library, "end"),
        text(WIDTH - MARGIN, y + 13, f"{100 * limit / result.ours_ms:.0f} %" if limit else "", "end", "number"),
    ]


def drawings(results, device, copy_speed):
    """The text of an SVG by the kernel's name, all with one scale. results: those with a ratio, at least one."""
    ratios = [result.ratio() for result in results]
    ends = math.floor(math.log2(min(ratios + [1]))), math.ceil(math.log2(max(ratios + [2])))
    kernels = dict.fromkeys(result.kernel for result in results)
    return {
        kernel: drawing(
            [result for result in results if result.kernel == kernel], f"{kernel}, {device}", ends, copy_speed
        )
        for kernel in kernels
    }


def drawing(results, title, ends, copy_speed):
    """The SVG text for one kernel. ends: the scale's, as powers of two."""
    ratios = [result.ratio() for result in results]
    low, high = ends

    def place(ratio):
        return LEFT + SCALE * (math.log2(ratio) - low) / (high - low)

    y = 64 + ROW * len(results)
    rows = [line for i, result in enumerate(results) for line in bar(result, place, copy_speed, 64 + ROW * i)]
    axis = [text(MARGIN, 22, title, style="head"), text(MARGIN, 57, "Times as fast as the library")]
    axis += [text(LIBRARY, 57, "library", "end"), text(WIDTH - MARGIN, 57, "of the limit", "end")]
    for power in range(low, high + 1):
        x = place(2.0**power)
        axis.append(f'<path class="{"one" if power == 0 else "grid"}" d="M{x:.1f} 62V{y + 4:.1f}"/>')
        axis.append(text(x, 57, f"{2.0**power:g}", "middle"))
    height = y + MARGIN
    slower = sum(ratio < 1 for ratio in ratios)
    description = f"{len(ratios)} comparisons, {slower} of them slower than the library; ratios from {min(ratios):.2f} to {max(ratios):.2f}."
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" width="{WIDTH}" viewBox="0 0 {WIDTH} {height}"><title>{html.escape(title)}</title>'
        f"<desc>{html.escape(description)}</desc>\n<style>\n{STYLE}\n</style>\n"
        f'<rect width="100%" height="100%" rx="6" style="fill:var(--paper)"/>\n' + "\n".join(axis + rows) + "\n</svg>\n"
    )
