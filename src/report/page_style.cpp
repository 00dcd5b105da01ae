// The style of a report's page: light, dark and printed.
#include "report/page.hpp"

namespace xtune::report {
namespace {

constexpr std::string_view style_text = R"css(
:root{--paper:#fff;--ink:#1a1f26;--soft:#59636f;--rule:#dfe4ea;--wash:#f4f6f8;--accent:#0a5fc2;--on:#fff;--bad:#b3420a}
@media (prefers-color-scheme:dark){:root{--paper:#12161b;--ink:#e4e8ed;--soft:#9aa5b1;--rule:#2c343d;--wash:#1a2027;
--accent:#68aefc;--on:#0c1116;--bad:#f09a57}}
*{box-sizing:border-box}
html{color-scheme:light dark}
body{margin:0;background:var(--paper);color:var(--ink);font:15px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"DejaVu Sans",sans-serif;
font-variant-numeric:tabular-nums}
main,footer{max-width:1060px;margin:0 auto;padding:0 20px}
header{padding:28px 0 4px}
h1{margin:0;font-size:26px;line-height:1.2;overflow-wrap:anywhere}
header p,footer p,.note{color:var(--soft)}
header p{margin:4px 0 0;max-width:none;overflow-wrap:anywhere}
h2{margin:40px 0 12px;padding-top:14px;border-top:1px solid var(--rule);font-size:19px;line-height:1.3;overflow-wrap:anywhere}
h3{margin:28px 0 10px;font-size:16px}
h4{margin:24px 0 8px;font-size:15px}
h2+h3{margin-top:12px}
p{margin:8px 0;max-width:75ch}
.note{font-size:13px}
.answer{display:grid;grid-template-columns:minmax(0,1fr) minmax(0,1fr);gap:8px 40px;align-items:start}
.big{margin:0;font-size:40px;line-height:1.1;font-weight:650;color:var(--accent)}
.none.big{font-size:26px;color:var(--bad)}
.interval{margin:6px 0 14px;color:var(--soft)}
dl{margin:0}dt{color:var(--soft)}dd{margin:0;overflow-wrap:anywhere}
.config{display:flex;flex-wrap:wrap;gap:8px 22px;margin:0 0 16px}
.config dt{font-size:12px}.config dd{font-weight:600}
.facts{margin:8px 0 20px}
.facts div{display:grid;grid-template-columns:11em minmax(0,1fr);gap:12px;padding:4px 0;border-top:1px solid var(--rule)}
.answer .facts div{grid-template-columns:6em minmax(0,1fr)}
.figures{display:grid;grid-template-columns:repeat(2,minmax(0,1fr));gap:24px 40px;align-items:start}
.multiples{display:grid;grid-template-columns:repeat(auto-fill,minmax(210px,1fr));gap:16px 24px}
figure{margin:0;min-width:0;break-inside:avoid}
figcaption{margin:0 0 6px;font-size:13.5px;font-weight:600;overflow-wrap:anywhere}
svg{display:block;width:100%;height:auto;overflow:visible}
svg text{font-size:12px;fill:var(--soft)}
svg .al{font-size:12px}
.grid{stroke:var(--rule);fill:none}.axis{stroke:var(--soft);fill:none}
.band{fill:var(--accent);fill-opacity:.1}
.dots{fill:none;stroke-linecap:round;stroke-width:4.5}.dots.mid{stroke-width:7}.dots.big{stroke-width:9}
.ok{stroke:var(--accent)}.dots.ok{stroke-opacity:.75}.dots.big.ok,.dots.mid.ok{stroke-opacity:1}
.pruned,.quiet{stroke:var(--soft)}.dots.pruned{stroke-opacity:.45}.bad{stroke:var(--bad)}
.strokes{fill:none;stroke-width:1.2}.strokes.dense{stroke-width:.9;stroke-opacity:.45}.spans{fill:none;stroke-width:10}.spans.ok{stroke-opacity:.7}
.line{fill:none;stroke-width:2}.line.best{stroke:var(--ink);stroke-width:1.8}.roof{stroke:var(--soft)}
.median{stroke:var(--ink);stroke-width:2}
.quartiles{fill:var(--soft);fill-opacity:.28}.bar{fill:var(--accent)}
.heat rect{fill:var(--accent)}.heat text{fill:var(--ink);pointer-events:none}
.q0 rect{fill-opacity:1}.q1 rect{fill-opacity:.84}.q2 rect{fill-opacity:.7}.q3 rect{fill-opacity:.57}.q4 rect{fill-opacity:.45}
.q5 rect{fill-opacity:.34}.q6 rect{fill-opacity:.24}.q7 rect{fill-opacity:.15}.q8 rect{fill-opacity:.08}
.q0 text,.q1 text,.q2 text{fill:var(--on)}.heat.none rect{fill:var(--wash)}.heat.none text{fill:var(--soft)}
.scroll{overflow:auto;margin:8px 0}.figures .scroll{margin:0}.scroll+.figures{margin-top:20px}.long{max-height:75vh}.long thead th{position:sticky;top:0;background:var(--paper)}
table{border-collapse:collapse;font-size:13.5px;min-width:100%}
caption{text-align:left;font-weight:600;padding:0 0 6px}
th,td{padding:4px 14px 4px 0;text-align:left;vertical-align:top;border-bottom:1px solid var(--rule);white-space:nowrap}
th[scope=row]{font-weight:400}
thead th{color:var(--soft);font-weight:500;border-bottom-color:var(--soft)}
.r{text-align:right}
th:last-child,td:last-child{padding-right:0}
.w{white-space:normal;min-width:12em;overflow-wrap:anywhere}
th button{all:unset;cursor:pointer;white-space:nowrap}
th button:hover{color:var(--ink)}
th[aria-sort=ascending] button::after{content:" \2191"}th[aria-sort=descending] button::after{content:" \2193"}
.filter{display:flex;flex-wrap:wrap;gap:6px 14px;align-items:baseline;margin:8px 0}
.filter input{font:inherit;color:inherit;background:var(--paper);border:1px solid var(--soft);border-radius:4px;padding:4px 8px;width:22em;max-width:100%}
.filter output{color:var(--soft);font-size:13px}
pre{background:var(--wash);padding:12px;overflow-x:auto;font-size:13px;line-height:1.45;border-radius:4px}
code,.code{font-family:ui-monospace,"SF Mono",Menlo,Consolas,"DejaVu Sans Mono",monospace}
.code{font-size:13px;overflow-wrap:anywhere}
details{margin:14px 0}summary{cursor:pointer;color:var(--accent)}
a{color:var(--accent)}
:focus-visible,th button:focus-visible{outline:2px solid var(--accent);outline-offset:2px}
.tip{position:fixed;z-index:1;max-width:340px;padding:6px 9px;border-radius:4px;background:var(--ink);color:var(--paper);
font-size:12.5px;line-height:1.4;white-space:pre-line;overflow-wrap:anywhere;pointer-events:none}
footer{padding-top:24px;padding-bottom:32px;font-size:13px}
@media (max-width:760px){main,footer{padding:0 14px}.answer,.figures{grid-template-columns:minmax(0,1fr)}.big{font-size:34px}
.facts div{grid-template-columns:8em minmax(0,1fr)}.multiples{grid-template-columns:repeat(2,minmax(0,1fr))}}
@media print{:root{--paper:#fff;--ink:#000;--soft:#444;--rule:#ccc;--wash:#f4f4f4;--accent:#0a5fc2;--on:#fff;--bad:#b3420a}
body{font-size:11px}.note,figcaption,footer{font-size:10px}.answer,.figures{grid-template-columns:repeat(2,minmax(0,1fr))}.multiples{grid-template-columns:repeat(4,minmax(0,1fr))}
main,footer{max-width:none;padding:0}.filter,.tip{display:none}h2,h3,h4{break-after:avoid}
tr,figure,.facts div{break-inside:avoid}.scroll{overflow:visible;max-height:none}table{font-size:9px}td,th{white-space:normal;padding-right:6px}
*{print-color-adjust:exact;-webkit-print-color-adjust:exact}}
)css";

}  // namespace

std::string_view page_style() { return style_text; }

}  // namespace xtune::report
