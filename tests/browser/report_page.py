#!/usr/bin/env python3
"""The report's page in headless Chromium.

report_page.py PAGE   exits with 77 where there is no Chromium

PAGE is the golden file of tests/unit/report. Checked are: no request but for the file itself and no message on the console, sorting and filtering,
what a mark says under the pointer, names of images and order of headings for screen readers, that all can be reached by the keyboard, that the page is
no wider than a narrow window, that plots look the same without scripts, and what the explorer of measured points draws, tells, keeps and compares.
"""
import http.server
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import threading
import unittest

PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
SKIPPED = 77


class Browser:
    """Chromium behind two pipes: JSON messages of its DevTools protocol, each with a zero byte at its end."""

    def __init__(self, program, profile):
        to_browser, self.commands = os.pipe()
        self.answers, from_browser = os.pipe()

        # Chromium reads from descriptor 3 and writes to 4; copies above them cannot be overwritten by the second dup2.
        def pipes():
            reading, writing = os.dup2(to_browser, 100), os.dup2(from_browser, 101)
            os.dup2(reading, 3), os.dup2(writing, 4)

        self.process = subprocess.Popen(
            [
                program,
                "--headless=new",
                "--no-sandbox",
                "--disable-gpu",
                "--hide-scrollbars",
                "--remote-debugging-pipe",
                "--no-first-run",
                "--disable-background-networking",
                f"--user-data-dir={profile}",
                "about:blank",
            ],
            close_fds=False,
            preexec_fn=pipes,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(to_browser)
        os.close(from_browser)
        self.watchdog = threading.Timer(200, self.process.kill)
        self.watchdog.start()
        self.number, self.rest, self.events, self.session = 0, b"", [], None

    def message(self):
        while b"\0" not in self.rest:
            piece = os.read(self.answers, 1 << 16)
            if not piece:
                raise EOFError("the browser has ended")
            self.rest += piece
        text, self.rest = self.rest.split(b"\0", 1)
        return json.loads(text)

    def call(self, method, **params):
        self.number += 1
        command = {"id": self.number, "method": method, "params": params}
        if self.session:
            command["sessionId"] = self.session
        os.write(self.commands, json.dumps(command).encode() + b"\0")
        while True:
            answer = self.message()
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
            self.events.append(answer)

    def open(self, page, width=1100, scripts=True):
        self.session = None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self.events = []
        for domain in ("Page", "Runtime", "Log", "Network", "Accessibility"):
            self.call(domain + ".enable")
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "light"}])
        self.call("Emulation.setScriptExecutionDisabled", value=not scripts)
        self.call("Page.navigate", url=page if isinstance(page, str) else page.as_uri())
        while not any(event.get("method") == "Page.loadEventFired" for event in self.events):
            self.events.append(self.message())

    def value(self, expression):
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(f"{expression}: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    def picture(self, box):
        return self.call("Page.captureScreenshot", format="png", captureBeyondViewport=True, clip={**box, "scale": 1})[
            "data"
        ]

    def elements(self, selector):
        """The text of these elements as they are now, also without scripts."""
        root = self.call("DOM.getDocument", depth=0)["root"]["nodeId"]
        nodes = self.call("DOM.querySelectorAll", nodeId=root, selector=selector)["nodeIds"]
        return [self.call("DOM.getOuterHTML", nodeId=node)["outerHTML"] for node in nodes]

    def close(self):
        self.session = None
        try:
            self.call("Browser.close")
        except (EOFError, OSError):
            pass
        self.process.wait()
        self.watchdog.cancel()


FIGURE = """(() => { const box = document.querySelectorAll("svg")[%d].getBoundingClientRect();
return {x: box.x, y: box.y + scrollY, width: box.width, height: box.height}; })()"""
COLUMN = """[...document.querySelectorAll("section.case table.sortable tbody tr")].filter((row) => !row.hidden)
.map((row) => row.cells[%d].textContent)"""


class ReportPage(unittest.TestCase):
    page = None
    program = None

    @classmethod
    def setUpClass(cls):
        cls.profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        cls.browser = Browser(cls.program, cls.profile.name)

    @classmethod
    def tearDownClass(cls):
        cls.browser.close()
        cls.profile.cleanup()

    def test_nothing_is_requested_and_nothing_is_complained_of(self):
        self.browser.open(self.page)
        self.browser.value("document.fonts.ready.then(() => 1)")
        events = self.browser.events
        requests = [
            event["params"]["request"]["url"] for event in events if event.get("method") == "Network.requestWillBeSent"
        ]
        self.assertEqual(requests, [self.page.as_uri()])
        complaints = [
            event["params"]
            for event in events
            if event.get("method") in ("Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded")
        ]
        self.assertEqual(complaints, [])

    def test_an_injected_script_does_not_run(self):
        self.browser.open(self.page)
        self.browser.value(
            """(() => { const script = document.createElement("script"); script.textContent = "window.ran = 1";
document.body.append(script); })()"""
        )
        self.assertIsNone(self.browser.value("window.ran || null"))

    def test_a_click_on_a_column_sorts_by_it(self):
        self.browser.open(self.page)
        press = """[...document.querySelectorAll("section.case th button")].find((one) => one.textContent === "time").click()"""
        times = [text for text in self.browser.value(COLUMN % 1) if text]
        self.browser.value(press)
        self.assertEqual([text for text in self.browser.value(COLUMN % 1) if text], times)
        self.assertEqual(
            self.browser.value("""document.querySelector("section.case th[aria-sort=ascending]").textContent"""), "time"
        )
        self.browser.value(press)
        self.assertEqual([text for text in self.browser.value(COLUMN % 1) if text], times[::-1])
        self.assertEqual(self.browser.value(COLUMN % 1)[-1], "")  # what has no time stays last

    def test_the_filter_hides_rows_and_says_how_many_are_left(self):
        self.browser.open(self.page)
        self.browser.value(
            """(() => { const input = document.querySelector("section.case > .filter input");
input.value = "block=128 ok"; input.dispatchEvent(new Event("input")); })()"""
        )
        self.assertEqual(self.browser.value(COLUMN % 6), ["128", "128"])
        self.assertRegex(
            self.browser.value("""document.querySelector("section.case > .filter output").value"""), r"^2 of \d+$"
        )

    def test_a_mark_under_the_pointer_says_what_it_is(self):
        self.browser.open(self.page)
        place = self.browser.value(
            """(() => { const path = document.querySelector("svg path.dots.ok[data-r]"), svg = path.closest("svg");
svg.scrollIntoView(); const [x, y] = path.getAttribute("d").match(/[\\d.]+/g).map(Number);
const at = new DOMPoint(x, y).matrixTransform(svg.getScreenCTM()); return {x: at.x, y: at.y}; })()"""
        )
        self.browser.call("Input.dispatchMouseEvent", type="mouseMoved", x=place["x"], y=place["y"])
        self.assertIn(
            "BLOCK=32  UNROLL=1", self.browser.value("""document.querySelector(".tip:not([hidden])").textContent""")
        )

    def explore(self, steps):
        """Runs steps over the parts of the first case's explorer."""
        return self.browser.value(
            """(() => { const place = document.querySelector(".explore"), [plot, parallel] = place.querySelectorAll(":scope > svg");
const select = (label, text) => { const input = [...place.querySelectorAll("label")].find((one) => one.textContent.startsWith(label))
.querySelector("select"); input.value = [...input.options].find((one) => one.textContent === text).value;
input.dispatchEvent(new Event("change")); };
const press = (name) => plot.dispatchEvent(new KeyboardEvent("keydown", {key: name}));
const points = () => [...plot.querySelectorAll("path.dots")].map((one) => one.getAttribute("d").match(/[\\d.]+/g).map(Number));
const chosen = () => [...place.querySelectorAll(".shown tbody tr")].map((row) => [...row.cells].map((cell) => cell.textContent));
"""
            + steps
            + " })()"
        )

    def test_axes_are_chosen(self):
        self.browser.open(self.page)
        heights = """select("X", "registers per thread"); select("Y", "BLOCK"); return points();"""
        points = sorted(map(tuple, self.explore(heights)))
        self.assertEqual(len(points), 11)
        # Registers grow with BLOCK here, so that a wider block is further right and higher.
        distinct = sorted(set((x, y) for x, y, *rest in points))
        self.assertEqual(len(distinct), 4)
        self.assertEqual([y for x, y in distinct], sorted((y for x, y in distinct), reverse=True))
        names = self.explore("""return [...place.querySelector("select").options].map((one) => one.textContent);""")
        self.assertIn("GB_per_s", names)
        self.assertNotIn("samples", names)  # the same everywhere

    def test_points_without_a_time_stand_above_the_others(self):
        self.browser.open(self.page)
        heights = sorted(point[1] for point in self.explore("return points();"))
        self.assertEqual(len(heights), 11)
        self.assertEqual(heights[0], heights[1])
        self.assertLess(heights[1], heights[2] - 5)

    def test_a_clicked_point_is_told_and_the_one_before_stays(self):
        self.browser.open(self.page)
        place = self.explore(
            """plot.scrollIntoView(); const [x, y] = points().at(-1);
const at = new DOMPoint(x, y).matrixTransform(plot.getScreenCTM()); return {x: at.x, y: at.y};"""
        )
        for kind in ("mousePressed", "mouseReleased"):
            self.browser.call("Input.dispatchMouseEvent", type=kind, button="left", clickCount=1, **place)
        rows = dict(self.explore("return chosen();"))
        self.assertEqual((rows["outcome"], rows["BLOCK"], rows["samples"]), ("ok", "128", "7"))
        rows = {row[0]: row[1:] for row in self.explore("""press("ArrowRight"); return chosen();""")}
        self.assertEqual(rows["BLOCK"], ["32", "128"])
        self.assertEqual(self.explore("""return plot.querySelectorAll(".chosen").length;"""), 2)

    def test_a_range_dragged_on_an_axis_keeps_what_passes_there(self):
        self.browser.open(self.page)
        ends = self.explore(
            """parallel.scrollIntoView(); const box = parallel.querySelector(".grip").getBoundingClientRect(), x = box.x + box.width / 2;
return [{x, y: box.y + box.height * 0.3}, {x, y: box.y + box.height * 0.45}];"""
        )
        for kind, place in (("mousePressed", ends[0]), ("mouseMoved", ends[1]), ("mouseReleased", ends[1])):
            self.browser.call("Input.dispatchMouseEvent", type=kind, button="left", clickCount=1, **place)
        self.assertEqual(self.explore("return points().length;"), 3)  # BLOCK=128, of four values the third from below
        self.assertEqual(self.explore("""place.querySelector(".filter button").click(); return points().length;"""), 11)

    def test_words_choose_points(self):
        self.browser.open(self.page)
        count = self.explore(
            """const input = place.querySelector("input[type=search]"); input.value = "block=64 ok";
input.dispatchEvent(new Event("input")); return [points().length, place.querySelector("output").value];"""
        )
        self.assertEqual(count, [2, "2 of 11 points"])

    def test_two_runs_are_compared(self):
        self.browser.open(self.page)
        text = self.explore("""return place.lastElementChild.textContent;""")
        self.assertIn("3 configurations passed in both: B has 0.9283 times A's time in geometric mean", text)
        self.assertIn("BLOCK=64  UNROLL=1302 us241 us0.800", text)
        colours = self.explore(
            """select("colour", "run"); return [...new Set([...plot.querySelectorAll("path.dots")]
.map((one) => one.getAttribute("class")))].sort();"""
        )
        self.assertEqual(colours, ["dots mid c0", "dots mid c1"])

    def test_a_live_page_follows_the_run_and_keeps_what_was_chosen(self):
        text = self.page.read_text().replace("base-uri", "connect-src 'self'; base-uri")
        texts = [
            text.replace('<html lang="en"', f'<html lang="en" data-live="{state}"').replace(
                "<main>", f'<main>\n<p class="live">{state}</p>'
            )
            for state in ("running", "ended")
        ]
        asked = []

        class Pages(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                body = texts[min(len(asked), 1)].encode()
                asked.append(self.headers.get("If-None-Match"))
                self.send_response(200)
                self.send_header("Content-Type", "text/html; charset=utf-8")
                self.send_header("ETag", f'"{len(asked)}"')
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *words):
                pass

        with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Pages) as server:
            threading.Thread(target=server.serve_forever, daemon=True).start()
            self.browser.open(f"http://127.0.0.1:{server.server_address[1]}/page/")
            self.explore("""select("X", "BLOCK"); press("ArrowRight"); return 0;""")
            state = """new Promise((done) => { const look = () => document.documentElement.dataset.live === "ended"
? done(document.querySelector(".live").textContent) : setTimeout(look, 20); look(); })"""
            self.assertEqual(
                self.browser.call("Runtime.evaluate", expression=state, awaitPromise=True)["result"]["value"], "ended"
            )
            server.shutdown()
        self.assertEqual(
            self.explore("""return place.querySelector("select").selectedOptions[0].textContent;"""), "BLOCK"
        )
        self.assertEqual(dict(self.explore("return chosen();"))["BLOCK"], "32")
        self.assertEqual(self.browser.value("""document.querySelectorAll("main").length"""), 1)

    def test_screen_readers_find_names_and_headings(self):
        self.browser.open(self.page)
        nodes = self.browser.call("Accessibility.getFullAXTree")["nodes"]
        named = [
            (node.get("role", {}).get("value"), node.get("name", {}).get("value", ""))
            for node in nodes
            if not node.get("ignored")
        ]
        images = [name for role, name in named if role in ("image", "img")]
        self.assertGreaterEqual(len(images), 6)
        for role, name in named:
            if role in ("image", "img", "table", "button", "searchbox", "region", "columnheader", "rowheader"):
                self.assertTrue(name or role == "rowheader", role)
        levels = self.browser.value(
            """[...document.querySelectorAll("h1,h2,h3,h4,h5,h6")].map((one) => Number(one.localName[1]))"""
        )
        self.assertEqual(levels[0], 1)
        self.assertTrue(all(b <= a + 1 for a, b in zip(levels, levels[1:])), levels)

    def test_the_keyboard_reaches_tables_and_buttons_and_shows_where_it_is(self):
        self.browser.open(self.page)
        reached = set()
        for _ in range(60):
            for kind in ("keyDown", "keyUp"):
                self.browser.call("Input.dispatchKeyEvent", type=kind, key="Tab", code="Tab", windowsVirtualKeyCode=9)
            name, outline = self.browser.value(
                "[document.activeElement.localName, getComputedStyle(document.activeElement).outlineStyle]"
            )
            if name != "body":
                self.assertNotEqual(outline, "none", name)
            reached.add(name)
        self.assertLessEqual({"button", "div", "input", "summary"}, reached)

    def test_a_narrow_window_needs_no_sideways_scrolling(self):
        for width in (400, 1100):
            self.browser.open(self.page, width)
            self.assertLessEqual(self.browser.value("document.documentElement.scrollWidth"), width)

    def test_plots_look_the_same_without_scripts(self):
        self.browser.open(self.page)
        plots = self.browser.elements("svg:not(.explore svg) *:not(title):not(desc), style")
        boxes = [self.browser.value(FIGURE % number) for number in range(4)]
        self.browser.open(self.page, scripts=False)
        self.assertEqual(self.browser.elements("svg:not(.explore svg) *:not(title):not(desc), style"), plots)
        # Pictures of one page may differ by a shade, so each is only compared with the size of an empty one.
        empty = self.browser.picture({"x": 0, "y": 0, "width": boxes[0]["width"], "height": 8})
        for box in boxes:
            self.assertGreater(len(self.browser.picture(box)), 2 * len(empty))


if __name__ == "__main__":
    ReportPage.page = pathlib.Path(sys.argv[1]).resolve()
    ReportPage.program = next(filter(None, map(shutil.which, PROGRAMS)), None)
    if not ReportPage.program:
        print("skipped: no Chromium [apt: chromium]")
        sys.exit(SKIPPED)
    unittest.main(argv=sys.argv[:1])
