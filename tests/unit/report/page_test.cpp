// The report's page: its contents, escaping of texts from users, its size, and a golden file.
#include "report/page/page.hpp"

#include <doctest/doctest.h>

#include <cstdlib>
#include <fstream>
#include <regex>

#include "base/hash.hpp"
#include "report/page/case_view.hpp"
#include "report/text/run_report.hpp"
#include "support/text.hpp"
#include "system/files.hpp"

using namespace xtune::measure;
using namespace xtune::store;
using namespace xtune::report;
using namespace xtune::spec;

using namespace xtune;
using namespace xtune::test;

namespace {

constexpr std::int64_t start_ms = 1'795'000'000'000;

std::shared_ptr<const Spec> page_spec(const std::string& more = "") {
  return std::make_shared<const Spec>(parse_spec(
      "[kernel]\nname = \"row_sum\"\n[problem]\nN = 4096\n[space.params]\nBLOCK = [32, 64, 128, 256]\nUNROLL = [1, "
      "2]\n[metrics]\nGB_per_s = \"4e-6 * N / time_ms\"\n" +
          more,
      "row_sum.toml", "."));
}

/// The number-th record of a run: of that configuration, half a second after the one before it.
Record page_record(int number, std::int64_t block, std::int64_t unroll, double time_ms, Outcome outcome = Outcome::ok) {
  Record record;
  record.kernel = "row_sum";
  record.key = "key " + std::to_string(block) + " " + std::to_string(unroll);
  record.problem = {{"N", 4096}};
  record.config = {{"BLOCK", block}, {"UNROLL", unroll}};
  record.outcome = outcome;
  record.attempt = "a1";
  record.host = "node1";
  record.toolchain = "nvrtc 13.0";
  record.device.name = "NVIDIA H100";
  record.device.arch = "sm_90";
  record.device.backend = "cuda";
  record.device.driver = "13.0 (580.65.06)";
  record.device.compute_units = 132;
  record.telemetry.clock_mhz = 1980;
  record.unix_time_ms = start_ms + number * 500;
  record.compile_s = 0.2 + 0.01 * number;
  record.bench_s = 0.1;
  record.usage.registers = static_cast<int>(16 + block / 8);
  record.usage.static_shared_bytes = block * 4;
  if (outcome == Outcome::ok || outcome == Outcome::pruned) {
    for (int i = 0; i < 7; ++i) record.samples_ms.push_back(time_ms * (1 + 0.002 * i));
    record.time_ms = summarize(record.samples_ms);
  } else {
    record.message = std::string(to_string(outcome)) + " of block " + std::to_string(block);
  }
  return record;
}

std::vector<Record> small_run() {
  return {page_record(1, 32, 1, 0.5),  page_record(2, 64, 1, 0.3),
          page_record(3, 128, 1, 0.1), page_record(4, 256, 1, 0.4, Outcome::pruned),
          page_record(5, 128, 2, 0.2), page_record(6, 256, 2, 0, Outcome::crashed),
          page_record(7, 32, 2, 0.45), page_record(8, 64, 2, 0, Outcome::wrong_result)};
}

/// The same, and an hour later three of its configurations again, of which one is faster.
std::vector<Record> two_runs() {
  std::vector<Record> records = small_run();
  for (const Record& again : {page_record(9, 32, 1, 0.5), page_record(10, 64, 1, 0.24), page_record(11, 128, 1, 0.1)}) {
    records.push_back(again);
    records.back().attempt = "a2";
    records.back().unix_time_ms += 3'600'000;
  }
  return records;
}

ReportData data_of(std::vector<ReportCase> cases) {
  ReportData data;
  data.cases = std::move(cases);
  data.run_command = {"xtune", "run", "row sum.toml"};
  data.command = {"xtune", "report", "row sum.toml"};
  data.version = "0.0.0";
  data.written_unix_ms = start_ms + 60'000;
  return data;
}

ReportCase case_of(std::vector<Record> records, const std::shared_ptr<const Spec>& spec = page_spec(),
                   const std::optional<std::string>& answer = std::nullopt) {
  const Bindings problem = records.empty() ? Bindings{{"N", 4096}} : records.front().problem;
  const device::DeviceInfo device = records.empty() ? device::DeviceInfo() : records.front().device;
  return make_report_case(spec, problem, device, std::move(records), answer);
}

std::string page_of(std::vector<Record> records, const std::shared_ptr<const Spec>& spec = page_spec()) {
  return report_page(data_of({case_of(std::move(records), spec)}));
}

std::size_t occurrences(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + part.size())) ++count;
  return count;
}

/// Without style and script, which hold words of everything.
std::string body_of(const std::string& page) { return page.substr(page.find("<body>")); }

}  // namespace

TEST_CASE("A small report is as its golden file") {
  const std::string path = XTUNE_GOLDEN_DIR "/row_sum.html";
  const std::string page = page_of(two_runs());
  if (std::getenv("XTUNE_WRITE_GOLDEN")) std::ofstream(path, std::ios::binary) << page;
  const std::string golden = system::read_file(path);
  // Told apart by lines, so that a difference can be read.
  std::istringstream ours(page), theirs(golden);
  for (std::string a, b; std::getline(ours, a) && std::getline(theirs, b);) REQUIRE(a == b);
  CHECK(page.size() == golden.size());
}

TEST_CASE("The answer comes first, with its interval, ties and metrics") {
  const std::string body = body_of(page_of(small_run()));
  const std::size_t answer =
      body.find("<p class=\"big\">101 us</p><p class=\"interval\">95 % interval 100 us to 101 us");
  REQUIRE(answer != std::string::npos);
  CHECK(answer < body.find("<svg"));
  CHECK(has(body, "<dt>BLOCK</dt><dd>128</dd>"));
  CHECK(has(body, "<dt>metrics</dt><dd>MB_per_s 162.9</dd>"));
  CHECK(has(body, "none: every other configuration is slower beyond the noise"));
  CHECK(has(body, "3.00 times as fast as the median of the 5 measured in full"));
  CHECK(has(body, "<dt>validation</dt><dd>none: no reference was compared</dd>"));
  std::vector<Record> compared = small_run();
  compared[2].validation.emplace();
  compared[2].validation->output = "y";
  compared[2].validation->max_abs_error = 2.5e-7;
  CHECK(has(body_of(page_of(compared)), "y agrees with the reference; largest error 2.5e-07, relative 0"));
  std::vector<Record> tied = small_run();
  tied.push_back(page_record(9, 256, 1, 0.1));
  CHECK(has(body_of(page_of(tied)), "1 other configuration tied with it"));
}

TEST_CASE("Speed-up, outliers and equal bits are columns if a record has them, as in the table of a run") {
  const std::string without = body_of(page_of(small_run()));
  for (const char* title : {">speed-up<", ">outliers<", ">same bits<"}) CHECK_FALSE(has(without, title));
  std::vector<Record> records = small_run();
  records[2].reference = ReferenceTime{"naive", {1.0, 1.0, 1.0}};
  records[2].time_ms.outliers = 3;
  records[4].repeatable = validate::Repeatability{2, std::nullopt};
  const std::string body = body_of(page_of(records));
  CHECK(has(body,
            "<th scope=\"col\" class=\"r\">time</th><th scope=\"col\" class=\"r\">vs best</th>"
            "<th scope=\"col\" class=\"r\">95 % interval</th><th scope=\"col\" class=\"r\">speed-up</th>"
            "<th scope=\"col\" class=\"r\">noise</th>"
            "<th scope=\"col\" class=\"r\">outliers</th><th scope=\"col\" class=\"r\">same bits</th>"));
  CHECK(has(body,
            "<td class=\"r\">101 us</td><td class=\"r\">1.000</td><td class=\"r\"></td><td class=\"r\">9.94</td>"
            "<td class=\"r\">0.6 %</td><td class=\"r\">3</td><td class=\"r\">-</td>"));
  CHECK(has(body, "<td class=\"r\">0</td><td class=\"r\">yes</td>"));
}

TEST_CASE("The default configuration is compared with the best one where it was measured") {
  const auto fact = [](std::vector<Record> records, const std::optional<Bindings>& config) {
    ReportCase one = case_of(std::move(records));
    one.default_config = config;
    const std::string body = body_of(report_page(data_of({one})));
    const std::string start = "<dt>default</dt><dd>";
    const std::size_t at = body.find(start);
    return at == std::string::npos ? "" : body.substr(at + start.size(), body.find("</dd>", at) - at - start.size());
  };
  const auto config = [](std::int64_t block, std::int64_t unroll) {
    return Bindings{{"BLOCK", block}, {"UNROLL", unroll}};
  };
  CHECK(fact(small_run(), std::nullopt).empty());
  CHECK(fact(small_run(), config(32, 4)).empty());
  CHECK(fact(small_run(), config(128, 1)) == "the best is the default configuration");
  CHECK(fact(small_run(), config(64, 1)) == "302 us, 3 times the time of the best (BLOCK=64)");
  CHECK(fact(small_run(), config(256, 1)) == "at least 400 us, 3.98 times the time of the best (BLOCK=256)");
  CHECK(fact(small_run(), config(256, 2)) == "BLOCK=256 UNROLL=2: crashed");
  // Where both were in the finals, these decide.
  std::vector<Record> records = small_run();
  for (Record last : {page_record(9, 128, 1, 0.11), page_record(10, 64, 1, 0.22)}) {
    last.finals = "f1";
    records.push_back(last);
  }
  CHECK(has(fact(records, config(64, 1)), "221 us, 2 times the time of the best (BLOCK=64)"));
}

TEST_CASE("The resources of each step of the best configuration are listed") {
  std::vector<Record> records = small_run();
  CHECK_FALSE(has(body_of(page_of(records)), "Steps of the best configuration"));
  for (Record& record : records) record.steps = {{"pack", {}, 0}, {"gemm<64>", {}, 2048}};
  records[2].steps[1].usage.registers = 168;  // the fastest
  const std::string body = body_of(page_of(records));
  const std::size_t list = body.find("Steps of the best configuration");
  REQUIRE(list != std::string::npos);
  const std::string rows = body.substr(list, 1000);
  CHECK(rows.find("pack") < rows.find("gemm&lt;64&gt;"));
  CHECK(has(rows, "168"));
  CHECK(has(rows, "2048"));
}

TEST_CASE("Sections without data are omitted or have a note") {
  const std::string none = body_of(page_of({}));
  CHECK(has(none, "No configuration passed"));
  CHECK(has(none, "The store holds no record of this problem."));
  CHECK_FALSE(has(none, "<svg"));
  const std::string failed = body_of(page_of({page_record(1, 32, 1, 0, Outcome::crashed)}));
  CHECK(has(failed, "No configuration passed"));
  CHECK(has(failed, "crashed of block 32"));
  CHECK(has(failed, "nothing to plot against time"));
  CHECK_FALSE(has(failed, ">Search<"));
  CHECK_FALSE(has(failed, ">Parameters<"));
  const std::string one = body_of(page_of({page_record(1, 32, 1, 0.5)}));
  CHECK(has(one, "<p class=\"big\">503 us</p>"));
  CHECK(has(one, "Best so far against evaluations"));
  CHECK_FALSE(has(one, "Importance"));
  CHECK_FALSE(has(one, ">Resources<"));
}

TEST_CASE("Outcomes are counted, and each kind of failure has a message") {
  std::vector<Record> records = small_run();
  records.push_back(page_record(9, 32, 1, 0, Outcome::crashed));
  const std::string body = body_of(page_of(records));
  CHECK(has(body, "<th scope=\"row\">crashed</th><td class=\"r\">2</td><td class=\"r\">25.0 %</td>"));
  // Messages that differ by their numbers only are one.
  CHECK(has(body, "<th scope=\"row\">crashed</th><td class=\"r\">2</td><td class=\"w\">crashed of block 256</td>"));
  CHECK(has(body, "<th scope=\"row\">wrong_result</th><td class=\"r\">1</td><td class=\"w\">wrong_result of block 64"));
}

TEST_CASE("Finals are shaded, and count neither as outcomes nor as evaluations that passed") {
  std::vector<Record> records = small_run();
  Record finals = page_record(20, 128, 1, 0.1);
  finals.finals = "f1";
  finals.finals_by = "";
  records.push_back(finals);
  const ReportCase one = case_of(records);
  const CaseView view(one, 1, 2, {});
  CHECK(view.events.size() == 9);
  CHECK(view.events.back().of_finals);
  CHECK(view.ok_events() == 5);
  const std::string body = body_of(report_page(data_of({one})));
  CHECK(has(body, "class=\"band\""));
  CHECK(has(body, "<th scope=\"row\">ok</th><td class=\"r\">5</td>"));
  CHECK_FALSE(has(body_of(page_of(small_run())), "class=\"band\""));
}

TEST_CASE("Tainted records make the line of the best so far only where there are no others") {
  std::vector<Record> records = small_run();
  const auto told = [&] {
    const std::string body = body_of(page_of(records));
    const std::size_t at = body.find("the best is ");
    return body.substr(at, body.find('<', at) - at);
  };
  records[2].tainted = {"the CPUs were busy"};
  CHECK(told() == "the best is 201 us.");
  for (Record& record : records) record.tainted = {"the CPUs were busy"};
  CHECK(told() == "the best is 101 us.");
}

TEST_CASE("Pauses between runs do not count") {
  std::vector<Record> records{page_record(1, 32, 1, 0.5), page_record(2, 64, 1, 0.3)};
  Record later = page_record(3, 128, 1, 0.1);
  later.attempt = "a2";
  later.unix_time_ms = start_ms + 3'600'000;
  records.push_back(later);
  const ReportCase one = case_of(records);
  const CaseView view(one, 1, 2, {});
  CHECK(view.events[1].seconds == doctest::Approx(0.81));
  CHECK(view.events[2].seconds == doctest::Approx(0.81 + 0.33));
  CHECK(ActiveTime({{0, 1000}, {500, 2000}, {5000, 6000}}).seconds_until(5500) == doctest::Approx(2.5));
}

TEST_CASE("Names, values, messages and specs of others cannot leave their places") {
  const std::string hostile = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\"'&";
  Spec spec = *page_spec();
  spec.kernel.name = hostile;
  spec.text = std::make_shared<const std::string>(hostile);
  spec.parameters[0].name = hostile;
  spec.parameters[0].values = {hostile, 64};
  std::vector<Record> records;
  for (Record record : small_run()) {
    record.config.erase("BLOCK");
    record.config[hostile] = record.unix_time_ms % 1000 ? Value(hostile) : Value(64);
    record.problem = {{hostile, hostile}};
    record.device.name = record.host = record.toolchain = hostile;
    record.message = record.message.empty() ? "" : hostile;
    record.tainted = {hostile};
    records.push_back(record);
  }
  ReportData data = data_of({case_of(records, std::make_shared<const Spec>(spec)), case_of({})});
  data.run_command = data.command = {hostile};
  const std::string page = report_page(data);
  CHECK_FALSE(has(page, "<img"));
  CHECK_FALSE(has(page, "<script>alert"));
  // The page's script, and one list of rows for each problem.
  CHECK(occurrences(page, "<script") == 3);
  CHECK(occurrences(page, "</script>") == 3);
  // A quote in a text from users does not end an attribute.
  CHECK_FALSE(has(page, "=x onerror=alert(2)>\""));
}

TEST_CASE("The page loads nothing and runs its own script only") {
  const std::string page = page_of(small_run());
  const std::size_t policy = page.find("http-equiv=\"Content-Security-Policy\"");
  REQUIRE(policy != std::string::npos);
  CHECK(policy < page.find("<style"));
  CHECK(has(page, "default-src 'none'"));
  CHECK_FALSE(has(page, "unsafe"));
  for (const char* word : {"http:", "https:", "src=", "url(", "@import", "<link", " style=", " onclick", "javascript:"})
    CHECK_FALSE(has(page, word));
  // The hash in the policy is the script's: as printed by `openssl dgst -sha256 -binary | base64`.
  CHECK(occurrences(page, "'sha256-") == 2);
  CHECK(has(page, "<script>" + std::string(explore_js) + std::string(page_js) + "</script>"));
  CHECK(has(page, "<style>" + std::string(page_css) + "</style>"));
}

TEST_CASE("Tables have captions and scopes, plots names, and headings follow each other") {
  const std::string body = body_of(report_page(data_of({case_of(small_run()), case_of(small_run())})));
  CHECK(occurrences(body, "<table") == occurrences(body, "<caption>"));
  CHECK(occurrences(body, "<th>") == 0);
  CHECK(occurrences(body, "<svg role=\"img\"") == occurrences(body, "<svg"));
  CHECK(occurrences(body, "<svg") == occurrences(body, "<desc>"));
  const std::regex headings("<h([1-6])>");
  int level = 0;
  for (std::sregex_iterator at(body.begin(), body.end(), headings), end; at != end; ++at) {
    const int next = std::stoi((*at)[1]);
    CHECK(next <= level + 1);
    level = next;
  }
  CHECK(level == 2);
}

TEST_CASE("A report of 5,000 records stays below 1 MB and keeps the best and the worst") {
  std::vector<Record> records;
  Spec spec = *page_spec();
  spec.parameters[0].values.clear();
  for (int i = 0; i < 5000; ++i) {
    const Outcome outcome = i % 10 == 3 ? Outcome::crashed : Outcome::ok;
    records.push_back(page_record(i, 32 + i / 2, 1 + i % 2, 1 + (i * 7919 % 5000) * 0.001, outcome));
    if (outcome != Outcome::ok) records.back().message += std::string(300, 'x');
    if (i % 2 == 0) spec.parameters[0].values.emplace_back(32 + i / 2);
  }
  const auto shared = std::make_shared<const Spec>(spec);
  const ReportCase one = case_of(records, shared);
  const CaseView view(one, 1, 2, {});
  CHECK(view.drawn.size() <= 2000);
  CHECK(view.drawn.size() > 1000);
  CHECK(std::any_of(view.drawn.begin(), view.drawn.end(),
                    [&](std::size_t place) { return view.events[place].record == one.ranked.front(); }));
  CHECK(std::any_of(view.drawn.begin(), view.drawn.end(),
                    [&](std::size_t place) { return view.events[place].record == one.ranked.back(); }));
  CHECK(report_page(data_of({one})).size() < 1'000'000);
  // The same records, as if they were of many problems.
  std::vector<ReportCase> cases;
  for (std::size_t i = 0; i < 50; ++i)
    cases.push_back(case_of({records.begin() + static_cast<std::ptrdiff_t>(i * 100),
                             records.begin() + static_cast<std::ptrdiff_t>((i + 1) * 100)},
                            shared));
  CHECK(report_page(data_of(cases)).size() < 1'000'000);
}

TEST_CASE("A report says what it leaves out of a large store") {
  std::vector<Record> other = small_run();
  for (Record& record : other) record.problem = {{"N", 8192}};
  ReportData data = data_of({case_of(small_run()), case_of(other)});
  CHECK_FALSE(has(body_of(report_page(data)), "records are shown"));
  data.cases[0].omitted = 999'992;
  std::string body = body_of(report_page(data));
  CHECK(has(body, "16 of 1000008 records"));
  CHECK(has(body, "8 of 1000000 records are shown: the best, those of finals, and others"));
  CHECK(has(body, "so one configuration for all problems is not chosen here"));
  CHECK_FALSE(has(body, "The table has the first"));
  data.omitted = 700, data.omitted_records = 1000;
  body = body_of(report_page(data));
  CHECK(has(body, "The table has the first 500 of 702 problems"));
  CHECK(has(body, "16 of 1001008 records"));
}

TEST_CASE("Several problems have an overview, and the regret of one configuration for all") {
  std::vector<Record> other = small_run();
  for (Record& record : other) {
    record.problem = {{"N", 8192}};
    if (record.outcome != Outcome::ok) continue;
    const double factor = value_as<int>(record.config["BLOCK"]) == 32 ? 0.1 : 2;
    for (double& sample : record.samples_ms) sample *= factor;
    record.time_ms = summarize(record.samples_ms);
  }
  const auto spec = page_spec();
  const std::string body = body_of(report_page(data_of({case_of(small_run(), spec), case_of(other, spec)})));
  CHECK(has(body, "<a href=\"#case-2\">N=8192</a>"));
  CHECK(has(body, "One configuration for all 2 problems of row_sum on NVIDIA H100"));
  CHECK(has(body, "N=8192: 344.4 %"));
  CHECK_FALSE(has(body_of(page_of(small_run())), "All problems"));
  // No configuration was measured for both.
  std::vector<Record> apart{page_record(1, 32, 1, 0.5)}, from{page_record(1, 64, 1, 0.5)};
  CHECK(has(body_of(report_page(data_of({case_of(apart, spec), case_of(from, spec)}))),
            "the regret of one for all is unknown"));
}

TEST_CASE("Two goals have a Pareto set, and a goal that grows is best where it is largest") {
  const auto two = page_spec("[objective]\nminimize = [\"time_ms\", \"registers\"]\n");
  const std::string body = body_of(page_of(small_run(), two));
  CHECK(has(body, ">Pareto set</h2>"));
  CHECK(has(body, "<th scope=\"row\" class=\"w\">BLOCK=128 UNROLL=1</th>"));
  const ReportCase most = case_of(small_run(), page_spec("[objective]\nmaximize = \"GB_per_s\"\n"));
  const Merit merit(most);
  CHECK(merit.maximize());
  CHECK(merit.axis() == "GB_per_s");
  CHECK(merit.of(*most.best->record) == doctest::Approx(0.1628).epsilon(0.001));
  const std::string shown = body_of(report_page(data_of({most})));
  CHECK(has(shown, "\"GB_per_s\""));
  CHECK(has(shown, "\"registers per thread\""));
  CHECK(has(shown, "\"up\":true"));
}

TEST_CASE("A known GPU and a model of the kernel give a roofline") {
  const auto spec = page_spec(
      "[candidates]\ntemplate = \"matmul\"\ndtype = \"f32\"\nmap = { m = \"N\", n = \"N\", k = \"N\", block_m = "
      "\"BLOCK\", block_n = \"BLOCK\" }\n");
  CHECK(has(body_of(page_of(small_run(), spec)), "Roofline"));
  CHECK_FALSE(has(body_of(page_of(small_run())), "Roofline"));
  std::vector<Record> on_cpu = small_run();
  for (Record& record : on_cpu) record.device.name = record.device.arch = record.device.vendor = "cpu";
  CHECK_FALSE(has(body_of(page_of(on_cpu, spec)), "Roofline"));
}

TEST_CASE("The data for measuring again are listed") {
  const std::string body = body_of(page_of(small_run()));
  CHECK(has(body, "<code>xtune run &#39;row sum.toml&#39;</code>"));
  CHECK(has(body, "<code>xtune report &#39;row sum.toml&#39;</code>"));
  CHECK(has(body, "<dt>driver</dt><dd>13.0 (580.65.06)</dd>"));
  CHECK(has(body, "<dt>clocks while measuring</dt><dd>1980 MHz</dd>"));
  CHECK(has(body, "<dt>compiler</dt><dd>nvrtc 13.0</dd>"));
  CHECK(has(body, "<dt>host</dt><dd>node1</dd>"));
  CHECK(has(body, "<summary>Spec row_sum.toml</summary>"));
}

TEST_CASE("What a lookup chose answers, and what it refused is drawn but not ranked") {
  REQUIRE(case_of(small_run()).ranked.front()->key == "key 128 1");
  CHECK(case_of(small_run(), page_spec(), "key 128 1").notes.empty());
  ReportCase one = case_of(small_run(), page_spec(), "key 64 1");  // the third
  CHECK(one.best->record->key == "key 64 1");
  CHECK(one.ranked.size() == 3);
  CHECK(one.records->size() == 8);
  REQUIRE(one.notes.size() == 1);
  CHECK(has(one.notes[0], "2 configurations with a better rank may not answer"));
  one = case_of(small_run(), page_spec(), "");
  CHECK_FALSE(one.best);
  CHECK(one.ranked.empty());
}

TEST_CASE("The report of a run says how much was tried, and what ended it") {
  run::TuneResult result;
  result.problem = {{"N", 4096}};
  result.device = small_run()[0].device;
  result.records = small_run();
  result.further = {page_record(20, 128, 1, 0.1)};
  result.further[0].finals = "f1";
  result.space_size = 5000;
  result.default_config = result.records[1].config;
  result.interrupted = true;
  const std::string body = body_of(report_page(data_of({report_case_of(page_spec(), result)})));
  CHECK(has(body, "8 of 5000 valid configurations tried"));
  CHECK(has(body, "times the time of the best (BLOCK=64)</dd>"));
  CHECK(has(body, "The run was interrupted before its search ended."));
  CHECK_FALSE(has(body, "sanitizers"));
  // A configuration counts once, however often it was measured, and however it ended before.
  result.records.push_back(page_record(30, 256, 1, 0.4));
  result.records.push_back(page_record(31, 32, 1, 0.5, Outcome::pruned));
  result.space_size = 8;
  const std::string again = body_of(report_page(data_of({report_case_of(page_spec(), result)})));
  CHECK(has(again, "8 of 8 valid configurations tried"));
  CHECK(has(again, "<th scope=\"row\">ok</th><td class=\"r\">6</td><td class=\"r\">75.0 %</td>"));
  CHECK_FALSE(has(again, "<th scope=\"row\">pruned"));
  result.records[0].key_parts.emplace_back("sanitize", "true");
  CHECK(has(report_page(data_of({report_case_of(page_spec(), result)})), "Built with sanitizers"));
}

TEST_CASE("A spec is made of records: the newest one's parameters, with the values that occur") {
  std::vector<Record> records{page_record(2, 64, 2, 1), page_record(1, 32, 1, 1)};
  records[1].config["OLD"] = 1;
  const Spec spec = spec_of_records("row_sum", records);
  CHECK(spec.kernel.name == "row_sum");
  REQUIRE(spec.parameters.size() == 2);
  CHECK(spec.parameters[0].name == "BLOCK");
  CHECK(spec.parameters[0].values == std::vector<Value>{32, 64});
}
