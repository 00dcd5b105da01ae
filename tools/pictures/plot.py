#!/usr/bin/env python3
"""Takes one plot out of a report of xtune, as an SVG file of its own.

plot.py REPORT SVG --plot TITLE     TITLE begins the plot's title, such as "Best so far against evaluations"

The SVG contains no script and no address, and follows the reader's light or dark setting, as the report does.
"""
import argparse
import html
import re
import sys

# What the plot needs of the report's style sheet: colours, and the rules whose selectors are classes of plots.
COLOURS = re.compile(r":root\{--paper:[^}]*\}")
DARK = re.compile(r"@media \(prefers-color-scheme:dark\)\{(:root\{[^}]*\})\}", re.S)
FONT = 'text{font:12px system-ui,-apple-system,"Segoe UI",Roboto,"DejaVu Sans",sans-serif;fill:var(--soft)}'


def rules_for(style, plot):
    """The rules of the style sheet that the plot's classes need."""
    classes = {name for value in re.findall(r'class="([^"]*)"', plot) for name in value.split()}
    rules = re.findall(r"(?m)(?:^|(?<=\}))(\.[a-z0-9.]+(?:,\.[a-z0-9.]+)*)\{([^{}]*)\}", style)
    wanted = [
        f"{selector}{{{body}}}"
        for selector, body in rules
        if any(set(each.strip(".").split(".")) <= classes for each in selector.split(","))
    ]
    return [
        COLOURS.search(style)[0],
        "@media (prefers-color-scheme:dark){" + DARK.search(style)[1] + "}",
        FONT,
        *wanted,
    ]


def plot_of(page, title):
    for plot in re.findall(r"<svg.*?</svg>", page, re.S):
        found = re.search(r"<title[^>]*>(.*?)</title>", plot, re.S)
        if found and html.unescape(found[1]).startswith(title):
            return plot
    sys.exit(f"plot.py: the report has no plot whose title begins with {title!r}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("report")
    parser.add_argument("svg")
    parser.add_argument("--plot", required=True)
    options = parser.parse_args()
    with open(options.report, encoding="utf-8") as file:
        page = file.read()
    plot = plot_of(page, options.plot)
    left, top, width, height = map(float, re.search(r'viewBox="([^"]*)"', plot)[1].split())
    margin = 10
    style = "\n".join(rules_for(re.search(r"<style>(.*?)</style>", page, re.S)[1], plot))
    body = re.search(r"<svg[^>]*>(.*)</svg>", plot, re.S)[1]
    titles = re.match(r"(?:<title.*?</title>)?(?:<desc.*?</desc>)?", body, re.S)[0]
    with open(options.svg, "w", encoding="utf-8") as file:
        file.write(
            f'<svg xmlns="http://www.w3.org/2000/svg" role="img" width="{1.4 * (width + 2 * margin):g}" '
            f'viewBox="{left - margin:g} {top - margin:g} {width + 2 * margin:g} {height + 2 * margin:g}">{titles}\n'
            f"<style>\n{style}\n</style>\n"
            f'<rect x="{left - margin:g}" y="{top - margin:g}" width="100%" height="100%" rx="6" style="fill:var(--paper)"/>\n'
            f"{body[len(titles):]}\n</svg>\n"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
