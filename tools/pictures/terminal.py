#!/usr/bin/env python3
"""Records a command in a terminal, and draws recordings as SVG.

terminal.py record CAST -- COMMAND...       runs COMMAND in a terminal of 80 columns; CAST is in the format of asciinema, version 2
terminal.py svg CAST SVG --title COMMAND    draws it: the command is typed, its output appears as it did, the end stays

The SVG contains no script and no address. It follows the reader's light or dark setting, plays once and keeps the last screen;
without animations it is the last screen. `--still` draws the last screen only.
"""
import argparse
import fcntl
import html
import json
import os
import pty
import re
import struct
import sys
import termios
import time

COLUMNS, ROWS = 80, 40
CHARACTER, LINE, FONT = (
    8.0,
    18.0,
    13.3,
)  # pixels; textLength makes every line as wide as its characters, whatever the font
MARGIN = 16.0
TYPING_S, LONGEST_PAUSE_S, END_S = 0.03, 0.7, 0.1
PLAIN = ""
# SGR codes that xtune writes, as classes of the style sheet.
CLASSES = {"1": "b", "2": "d", "31": "r", "32": "g", "33": "y", "34": "u", "35": "m", "36": "c"}
STYLE = (
    """
text{font:%gpx ui-monospace,SFMono-Regular,Menlo,Consolas,"Liberation Mono",monospace;fill:#1f2328;white-space:pre}
rect{fill:#f6f8fa;stroke:#d0d7de}
.b{font-weight:bold}.d{fill:#59636e}.r{fill:#b31d28}.g{fill:#116329}.y{fill:#7d4e00}.u{fill:#0550ae}.m{fill:#6639ba}.c{fill:#1b7c83}
@media (prefers-color-scheme:dark){
text{fill:#e6edf3}rect{fill:#0d1117;stroke:#3d444d}
.d{fill:#9198a1}.r{fill:#ff7b72}.g{fill:#56d364}.y{fill:#e3b341}.u{fill:#79c0ff}.m{fill:#d2a8ff}.c{fill:#56d4dd}}
"""
    % FONT
)


def record(path, command):
    """Runs the command behind a pseudo-terminal and writes what it printed, with the time of each piece."""
    events, start = [], time.monotonic()
    child, terminal = pty.fork()
    if child == 0:
        os.environ.update(TERM="xterm-256color", COLUMNS=str(COLUMNS))
        time.sleep(0.2)  # until the size is set
        os.execvp(command[0], command)
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    while True:
        try:
            piece = os.read(terminal, 1 << 16)
        except OSError:  # the child has closed the terminal
            break
        if not piece:
            break
        events.append([round(time.monotonic() - start, 3), "o", piece.decode(errors="replace")])
    _, status = os.waitpid(child, 0)
    with open(path, "w", encoding="utf-8") as cast:
        for line in [{"version": 2, "width": COLUMNS, "height": ROWS}, *events]:
            print(json.dumps(line), file=cast)
    return os.waitstatus_to_exitcode(status)


class Screen:
    """The lines that a terminal shows: characters with the classes of their colours. Long output makes it longer."""

    def __init__(self):
        self.lines, self.row, self.column, self.style = [[]], 0, 0, PLAIN

    def write(self, text):
        for piece in re.findall(r"\x1b\[[0-9;?]*[A-Za-z]|[^\x1b]|\x1b", text):
            if piece.startswith("\x1b"):
                self.control(piece)
            elif piece == "\r":
                self.column = 0
            elif piece == "\n":
                self.row += 1
                if self.row == len(self.lines):
                    self.lines.append([])
            elif piece >= " ":
                self.put(piece)

    def put(self, character):
        if self.column == COLUMNS:
            self.write("\r\n")
        line = self.lines[self.row]
        line.extend([(" ", PLAIN)] * (self.column + 1 - len(line)))
        line[self.column] = (character, self.style)
        self.column += 1

    def control(self, sequence):
        numbers, letter = sequence[2:-1], sequence[-1]
        if letter == "m":
            codes = [CLASSES.get(code, "") for code in numbers.split(";") if code not in ("", "0")]
            self.style = " ".join(code for code in codes if code) if codes else PLAIN
        elif letter == "K":
            del self.lines[self.row][0 if numbers == "2" else self.column :]
        elif letter == "A":
            self.row = max(0, self.row - int(numbers or 1))

    def text(self):
        """What is shown, without empty lines at the end."""
        lines = [tuple(line) for line in self.lines]
        while lines and not "".join(character for character, _ in lines[-1]).strip():
            lines.pop()
        return lines


def frames_of(cast, command):
    """(seconds, lines) of each picture: the command as it is typed, then what it prints, in shortened pauses."""
    prompt = [("$", "d"), (" ", PLAIN)]
    frames = [(TYPING_S, [tuple(prompt)])]
    for end in range(4, len(command) + 4, 4):
        frames.append((TYPING_S * 4, [tuple(prompt + [(character, "b") for character in command[:end]])]))
    first = frames[-1][1]
    screen, before = Screen(), None
    for seconds, _, text in cast:
        if before is not None and frames:
            duration, lines = frames[-1]
            frames[-1] = (duration + min(seconds - before, LONGEST_PAUSE_S), lines)
        before = seconds
        screen.write(text)
        lines = first + screen.text()
        if lines != frames[-1][1]:
            frames.append((0.0, lines))
    frames[-1] = (END_S, frames[-1][1])
    return frames


def thinned(frames, shortest=0.08):
    """The frames without those that nobody could see."""
    kept, carried = [], 0.0
    for duration, lines in frames[:-1]:
        carried += duration
        if carried >= shortest:
            kept.append((carried, lines))
            carried = 0.0
    return [*kept, (carried + frames[-1][0], frames[-1][1])]


def line_markup(line, y):
    """One line of text: runs of one colour as <tspan>."""
    while line and line[-1][0] == " ":
        line = line[:-1]
    if not line:
        return ""
    runs = []
    for character, style in line:
        if runs and runs[-1][1] == style:
            runs[-1][0] += character
        else:
            runs.append([character, style])
    spans = "".join(
        f'<tspan class="{style}">{html.escape(text, quote=False)}</tspan>' if style else html.escape(text, quote=False)
        for text, style in runs
    )
    return f'<text x="{MARGIN:g}" y="{y:g}" textLength="{len(line) * CHARACTER:g}">{spans}</text>'


def visible_spans(frames):
    """{(row, line): [(from, to), ...]} in seconds: the lines that stay from frame to frame are drawn once."""
    spans, now = {}, 0.0
    for duration, lines in frames:
        for row, line in enumerate(lines):
            if not line:
                continue
            times = spans.setdefault((row, line), [])
            if times and abs(times[-1][1] - now) < 1e-9:
                times[-1] = (times[-1][0], now + duration)
            else:
                times.append((now, now + duration))
        now += duration
    return spans, now


def svg(frames, title):
    spans, total = visible_spans(frames)
    rows = max(len(lines) for _, lines in frames)
    width, height = COLUMNS * CHARACTER + 2 * MARGIN, rows * LINE + 2 * MARGIN
    style, body = STYLE, []
    names = {}
    for (row, line), times in sorted(spans.items(), key=lambda entry: entry[0][0]):
        markup = line_markup(line, MARGIN + (row + 0.75) * LINE)
        if not markup:
            continue
        if times != [(0.0, total)]:
            name = names.setdefault(tuple(times), f"k{len(names)}")
            markup = f'<g class="{name}">{markup}</g>'
        body.append(markup)
    for times, name in names.items():
        style += keyframes(name, times, total)
    # Who asked for less motion, and every program that draws no animations, sees the end.
    style += "@media (prefers-reduced-motion:reduce){g{animation:none!important}}\n"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" width="{width:g}" height="{height:g}" '
        f'role="img" aria-label="{html.escape(title)}"><title>{html.escape(title)}</title><style>{style}</style>'
        f'<rect x="0.5" y="0.5" width="{width - 1:g}" height="{height - 1:g}" rx="6"/>\n'
        + "\n".join(body)
        + "\n</svg>\n"
    )


def keyframes(name, times, total):
    """CSS that shows an element during these times. Without animation it is shown if it belongs to the end."""
    steps = [] if times[0][0] == 0 else ["0%{opacity:0}"]
    for begin, end in times:
        steps.append(f"{100 * begin / total:.3f}%{{opacity:1}}")
        if end < total - 1e-9:
            steps.append(f"{100 * end / total:.3f}%{{opacity:0}}")
    at_end = 1 if times[-1][1] >= total - 1e-9 else 0
    return (
        f"@keyframes {name}{{{''.join(steps)}}}" f".{name}{{opacity:{at_end};animation:{name} {total:.2f}s step-end}}\n"
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="do", required=True)
    recording = commands.add_parser("record")
    recording.add_argument("cast")
    recording.add_argument("command", nargs=argparse.REMAINDER)
    drawing = commands.add_parser("svg")
    drawing.add_argument("cast")
    drawing.add_argument("svg")
    drawing.add_argument("--title", required=True, help="the command that is shown as typed")
    drawing.add_argument("--still", action="store_true")
    options = parser.parse_args()
    if options.do == "record":
        return record(options.cast, [word for word in options.command if word != "--"])
    with open(options.cast, encoding="utf-8") as cast:
        events = [json.loads(line) for line in cast][1:]
    frames = thinned(frames_of(events, options.title))
    if options.still:
        frames = frames[-1:]
    with open(options.svg, "w", encoding="utf-8") as file:
        file.write(svg(frames, options.title))
    return 0


if __name__ == "__main__":
    sys.exit(main())
