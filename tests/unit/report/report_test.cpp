// Tests of the tables, metrics and JSON that a run ends with.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "core/spec/process_spec.hpp"
#include "core/store/objective.hpp"
#include "report/text/run_report.hpp"
#include "report/text/table.hpp"
#include "support/text.hpp"

using namespace xtune::measure;
using namespace xtune::store;
using namespace xtune::report;
using namespace xtune::run;
using namespace xtune::space;
using namespace xtune::spec;

using namespace xtune;
using namespace xtune::test;

namespace {

Spec spec_with(const std::string& metrics) {
  return parse_spec(
      "[kernel]\nname = \"k\"\n[problem]\nN = 1000000\n[space.params]\nB = [1, 2]\nA = [1, 2]\n" + metrics, "k.toml",
      ".");
}

Record record_of(std::int64_t a, double time_ms, Outcome outcome = Outcome::ok) {
  Record record;
  record.kernel = "k";
  record.key = "key of " + std::to_string(a);
  record.problem = {{"N", std::int64_t{1000000}}};
  record.config = {{"A", a}, {"B", std::int64_t{2}}};
  record.outcome = outcome;
  record.device.compute_units = 4;
  if (outcome != Outcome::ok) return record;
  record.samples_ms = {time_ms, time_ms, time_ms};
  record.time_ms = summarize(record.samples_ms);
  return record;
}

TuneResult result_of(std::vector<Record> records) {
  TuneResult result;
  result.problem = {{"N", std::int64_t{1000000}}};
  result.device.name = "A device";
  result.space_size = 4;
  for (const Record& record : records) ++result.counts[record.outcome];
  result.records = std::move(records);
  result.total_s = 12;
  return result;
}

}  // namespace

TEST_CASE("Every failing outcome is shown with an example, sanitizer reports first") {
  Record wrong = record_of(1, 0, Outcome::wrong_result), crashed = record_of(2, 0, Outcome::crashed),
         reported = record_of(3, 0, Outcome::crashed), rejected = record_of(4, 0, Outcome::rejected);
  wrong.message = "y differs\nat [3]: 1, expected 2";
  crashed.message = "killed by signal 9";
  reported.message = "AddressSanitizer: heap-buffer-overflow on address 0x1\n    #0 0x2 in conv conv.cu:62";
  rejected.message = "too many threads";
  const Spec spec = spec_with("");
  const TuneResult result = result_of({rejected, rejected, rejected, wrong, wrong, crashed, reported, record_of(5, 1.0),
                                       record_of(6, 0, Outcome::pruned)});
  const std::string text = run_text(spec, result, 10);
  CHECK(has(text,
            "2 crashed, e.g. B=2 A=3: AddressSanitizer: heap-buffer-overflow on address 0x1 |     #0 0x2 in conv "
            "conv.cu:62\n"
            "2 wrong_result, e.g. B=2 A=1: y differs | at [3]: 1, expected 2\n"
            "3 rejected, e.g. B=2 A=4: too many threads\n"));
  CHECK(text.find("3 rejected, e.g.") < text.find("best: "));
  const nlohmann::ordered_json json = run_json(spec, result, 10)["failures"];
  REQUIRE(json.size() == 3);
  CHECK(json[0]["outcome"] == "crashed");
  CHECK(json[0]["count"] == 2);
  CHECK(json[0]["sanitizer"] == true);
  CHECK(json[0]["config"]["A"] == 3);
  CHECK(json[1]["message"] == wrong.message);
  CHECK(json[1]["sanitizer"] == false);
  CHECK(run_json(spec, result_of({record_of(5, 1.0)}), 10)["failures"].empty());
}

TEST_CASE("Metrics use problem, parameters, device and time; one that fails is NaN") {
  const Spec spec = spec_with(
      "[metrics]\nGB_per_s = \"4 * N / time_s / 1e9\"\nper_ms = \"A / time_ms\"\nunits = \"device.compute_units\"\n"
      "none = \"1 // (A - 1)\"\n");
  const auto metrics = metrics_of(spec, record_of(1, 2.0));
  REQUIRE(metrics.size() == 4);
  CHECK(metrics[0].first == "GB_per_s");
  CHECK(metrics[0].second == doctest::Approx(2.0));
  CHECK(metrics[1].second == doctest::Approx(0.5));
  CHECK(metrics[2].second == 4);
  CHECK(std::isnan(metrics[3].second));
  CHECK(metrics_text(spec, record_of(1, 2.0)) == "GB_per_s 2, per_ms 0.5, units 4, none -");
}

TEST_CASE("Configurations print in the spec's order") {
  CHECK(config_text(spec_with(""), record_of(1, 1).config) == "B=2 A=1");
  CHECK(shown_text(Bindings{{"A", "rm\n\t\x1b[31m"}, {"B", 2}}) == "A=rm\\n\\t\\x1b[31m B=2");
  CHECK(bindings_text(record_of(1, 1).config) == "A=1 B=2");
  CHECK(bindings_text({}).empty());
}

TEST_CASE("The JSON of a run holds the best, its ties, counts and times") {
  const Spec spec = spec_with("[metrics]\nnone = \"1 // (A - A)\"\nms = \"time_ms\"\n");
  TuneResult result = result_of({record_of(2, 3.0), record_of(1, 2.0), record_of(3, 0, Outcome::crashed)});
  result.from_store = 1;
  const auto json = run_json(spec, result, 10);
  CHECK(json["kernel"] == "k");
  CHECK(json["problem"]["N"] == 1000000);
  CHECK(json["best"]["config"] == nlohmann::ordered_json{{"A", 1}, {"B", 2}});
  CHECK(json["best"]["time_ms"] == 2.0);
  CHECK(json["best"]["interval_ms"] == nlohmann::ordered_json{2.0, 2.0});
  CHECK(json["best"]["metrics"]["ms"] == 2.0);
  CHECK(json["best"]["metrics"]["none"].is_null());
  CHECK(json["best"]["ties"].empty());
  CHECK(json["counts"]["ok"] == 2);
  CHECK(json["counts"]["crashed"] == 1);
  CHECK(json["from_store"] == 1);
  CHECK(json["seconds"]["total"] == 12);
  for (const char* part : {"compile_cpu", "compile_wall", "device_busy"}) CHECK(json["seconds"].contains(part));
  CHECK_NOTHROW(json.dump());

  const auto tied = run_json(spec, result_of({record_of(2, 2.0), record_of(1, 2.0)}), 10);
  CHECK(tied["best"]["config"]["A"] == 1);
  REQUIRE(tied["best"]["ties"].size() == 1);
  CHECK(tied["best"]["ties"][0]["A"] == 2);

  const auto none = run_json(spec, result_of({record_of(1, 0, Outcome::wrong_result)}), 10);
  CHECK(none["best"].is_null());
  CHECK(run_json(spec, result_of({}), 10)["counts"].is_object());
}

TEST_CASE("The text of a run lists the fastest first, then outcomes and the winner") {
  const Spec spec = spec_with("[metrics]\nGB_per_s = \"4 * N / time_s / 1e9\"\n");
  const TuneResult result =
      result_of({record_of(2, 3.0), record_of(1, 2.0), record_of(4, 4.0), record_of(3, 0, Outcome::crashed)});
  const std::string text = run_text(spec, result, 2);
  CHECK(text.find("2.00 ms") < text.find("3.00 ms"));
  CHECK(has(text, "... 1 more"));
  CHECK(has(text, "4 of 4 valid configurations"));
  CHECK(has(text, "3 ok"));
  CHECK(has(text, "1 crashed"));
  CHECK(has(text, "best: B=2 A=1"));
  CHECK(has(text, " (95 % interval "));
  // The interval need not contain the mean, so the text names its statistic.
  CHECK(has(run_text(spec_with("[measure]\nstatistic = \"mean\"\n"), result, 2), " (median's 95 % interval "));
  CHECK(has(text, "GB_per_s"));
  CHECK(has(text, "not validated"));
  CHECK(has(run_text(spec, result_of({record_of(3, 0, Outcome::crashed)}), 10), "no configuration passed"));
  CHECK(has(run_text(spec, result_of({}), 10), "no configuration passed"));
  TuneResult late = result_of({});
  late.out_of_time = true;
  CHECK_FALSE(has(run_text(spec, late, 10), "no configuration compiled"));
  CHECK(has(run_text(spec, late, 10), "the time was up before"));
  CHECK(run_json(spec, late, 10)["out_of_time"] == true);
  late = result_of({record_of(3, 0, Outcome::crashed)});
  late.out_of_time = true;
  CHECK(has(run_text(spec, late, 10), "the time was up before"));
  late = result_of({});
  late.interrupted = true;
  CHECK(has(run_text(spec, late, 10), "interrupted before"));
  Record tainted = record_of(1, 1);
  tainted.tainted = {"the clock dropped"};
  CHECK(has(run_text(spec, result_of({tainted}), 10), "tainted: the clock dropped"));
  // Disturbances take time: what was fast in spite of them may be the best.
  const std::string disturbed = run_text(spec, result_of({tainted, record_of(2, 3)}), 10);
  CHECK(has(disturbed, " took 1.00 ms, and ranks last because it was disturbed; measure it again\n"));
  CHECK(has(disturbed, "not certain: "));
  CHECK_FALSE(has(run_text(spec, result_of({tainted, record_of(2, 1.01)}), 10), "not certain: "));
}

TEST_CASE("Results that stayed unread count in all sums") {
  const Spec spec = spec_with("");
  Record crashed = record_of(3, 0, Outcome::crashed);
  crashed.message = "killed by signal 9";
  TuneResult result = result_of({record_of(2, 3.0), record_of(1, 2.0), crashed});
  result.unread = {{Outcome::ok, 5}, {Outcome::pruned, 4}, {Outcome::crashed, 2}, {Outcome::timed_out, 1}};
  result.space_size = 20;
  const std::string text = run_text(spec, result, 2);
  CHECK(has(text, "... 5 more"));
  CHECK(has(text, "15 of 20 valid configurations"));
  CHECK(has(text, "3 crashed, e.g. B=2 A=3: killed by signal 9"));
  const auto failures = run_json(spec, result, 2)["failures"];
  REQUIRE(failures.size() == 2);
  CHECK(failures[1]["outcome"] == "timed_out");
  CHECK(failures[1]["config"].is_null());
}

TEST_CASE("The N best are listed with their intervals; finals are mentioned if they decided") {
  const Spec spec = spec_with("");
  TuneResult result = result_of({record_of(1, 2.0), record_of(2, 2.0), record_of(3, 3.0)});
  CHECK(run_json(spec, result, 2)["top"].size() == 2);
  CHECK(run_json(spec, result, 9)["top"].size() == 3);
  CHECK(run_json(spec, result, 9)["top"][2]["interval_ms"] == nlohmann::json{3.0, 3.0});
  CHECK(run_json(spec, result, 9)["finals"].is_null());
  for (const std::int64_t a : {1, 2}) {
    Record finalist = record_of(a, a == 2 ? 1.5 : 1.8);
    finalist.finals = "f";
    finalist.samples_ms.assign(15, finalist.time_ms.median);
    result.further.push_back(finalist);
  }
  const auto json = run_json(spec, result, 9);
  CHECK(json["best"]["config"]["A"] == 2);
  CHECK(json["best"]["time_ms"] == 1.5);
  CHECK(json["best"]["ties"].empty());
  CHECK(json["finals"]["finalists"] == 2);
  CHECK(json["finals"]["rounds"] == 15);
  CHECK(json["finals"]["decided"] == true);
  CHECK(has(run_text(spec, result, 10), "finals: 2 configurations in 15 rounds; all times"));
  result.further[0].outcome = Outcome::crashed;
  CHECK(has(run_text(spec, result, 10), "finals: 2 configurations in 15 rounds, 1 failed; all times"));
}

TEST_CASE("The best is compared by the rounds of the finals, the others by what the search measured") {
  const Spec spec = spec_with("");
  TuneResult result = result_of({record_of(1, 2.0), record_of(2, 1.9), record_of(3, 3.0), record_of(4, 2.5)});
  result.finalists = 3;
  // Rounds in which all became slower: the ratios stay.
  const double rounds[][2] = {{1, 1.0}, {2, 1.002}, {4, 1.5}};
  for (const auto& [a, factor] : rounds) {
    Record finalist = record_of(static_cast<std::int64_t>(a), 1);
    finalist.finals = "f";
    finalist.samples_ms.clear();
    for (int round = 0; round < 15; ++round) finalist.samples_ms.push_back(factor * (2.1 + 0.01 * round));
    finalist.time_ms = summarize(finalist.samples_ms);
    result.further.push_back(finalist);
  }
  result.scale_times({});
  const std::string text = run_text(spec, result, 10);
  CAPTURE(text);
  CHECK(has(text, "\nfinals: 3 configurations in 15 rounds; all times are on their scale\n"));
  CHECK(has(text, "        the device was 14 % slower than in the search\n"));
  CHECK(has(text, "#     time    vs best   95 % interval "));
  CHECK(has(text, "1  2.17 ms      1.000 "));
  CHECK(has(text, "2  2.17 ms  1.002 tie  1.002 .. 1.002 "));
  // Not in the finals: 3.0 against the 2.0 that the search had measured of the best.
  CHECK(has(text, "3  3.25 ms      1.500  1.500 .. 1.500 "));
  CHECK(has(text, "      1 other is tied with it (within noise or 1 %)\n"));
  CHECK_FALSE(has(text, "as reported"));
  const auto process = std::make_shared<ProcessSpec>();
  process->metrics.emplace_back().name = "rate";
  Spec program = spec;
  program.process = process;
  CHECK(has(run_text(program, result, 10), "        rate: as reported in each configuration's own runs, not on that"));
  CHECK_FALSE(has(run_text(spec_with("[objective]\nminimize = \"time_ms * A\"\n"), result, 10), "vs best"));
}

TEST_CASE("A device that changes its speed during the finals is mentioned, and the times stay in proportion") {
  const Spec spec = spec_with("");
  TuneResult result = result_of({record_of(1, 2.0), record_of(2, 2.0)});
  for (const std::int64_t a : {1, 2}) {
    Record finalist = record_of(a, 2);
    finalist.finals = "f";
    finalist.samples_ms.clear();
    // The slower one leaves after ten rounds; from then on the device is slower.
    for (int round = 0; round < (a == 1 ? 40 : 10); ++round)
      finalist.samples_ms.push_back((round < 10 ? 2.0 : 2.2) * (a == 1 ? 1 : 1.05));
    finalist.time_ms = summarize(finalist.samples_ms);
    result.further.push_back(finalist);
  }
  result.scale_times({});
  const std::string text = run_text(spec, result, 10);
  CAPTURE(text);
  CHECK(has(text, "the device became 10 % slower during the finals\n"));
  CHECK(has(text, "2  2.31 ms    1.050 "));
  CHECK(has(text, "certain: the next one takes 1.050 times as long (1.050 .. 1.050)\n"));
  result.further[0].samples_ms.assign(40, 2.0);
  CHECK_FALSE(has(run_text(spec, result, 10), "during the finals"));
}

TEST_CASE("Finals without a clear winner name the key that would allow more rounds") {
  for (const auto& [rep, advice] : {std::pair(15, "[measure] rep allows more"), {50, "max_time_ms allows more"}}) {
    const Spec spec = spec_with("[measure]\nrep = " + std::to_string(rep) + "\n");
    TuneResult result = result_of({record_of(1, 2.0), record_of(2, 2.0)});
    for (const std::int64_t a : {1, 2}) {
      Record finalist = record_of(a, 2);
      finalist.finals = "f";
      finalist.samples_ms.clear();
      for (int round = 0; round < 15; ++round)
        finalist.samples_ms.push_back((round + a) % 2 == 0 ? 2.0 : 2.4);  // now one, now the other is faster
      finalist.time_ms = summarize(finalist.samples_ms);
      result.further.push_back(finalist);
    }
    const std::string text = run_text(spec, result, 10);
    CAPTURE(text);
    CHECK(has(text, advice));
  }
}

TEST_CASE("What a run did not try itself is counted where it stands in the table") {
  TuneResult result = result_of({record_of(1, 2.0)});
  CHECK_FALSE(has(run_text(spec_with(""), result, 10), "earlier runs"));
  result.further = {record_of(2, 1.0), record_of(3, 3.0)};
  const std::string text = run_text(spec_with(""), result, 10);
  CHECK(has(text, "1 of 4 valid configurations in 12.0 s: 1 ok\n2 configurations of earlier runs also count\n"));
  CHECK(has(text, "compile: 0 ms of CPU time; device busy: 0 ms\n"));
}

TEST_CASE("A rate is shown with the prefix that suits its values") {
  const auto shown = [](const std::string& name, double largest) {
    const ShownMetric metric = shown_metric(name, largest);
    return metric.name + " " + number_text(largest * metric.factor);
  };
  CHECK(shown("TFLOPS", 0.002624) == "GFLOPS 2.624");
  CHECK(shown("TFLOPS", 42) == "TFLOPS 42");
  CHECK(shown("GFLOPS", 123456) == "TFLOPS 123.5");
  CHECK(shown("GB_per_s", 0.00004) == "kB_per_s 40");
  CHECK(shown("GBps", 0) == "GBps 0");
  CHECK(shown("Gibberish", 1e-9) == "Gibberish 1e-09");
  CHECK(shown("", 1e-9) == " 1e-09");
  const Spec spec = spec_with("[metrics]\nTFLOPS = \"N / time_s / 1e12\"\n");
  const TuneResult result = result_of({record_of(1, 2.0), record_of(2, 4.0)});
  CHECK(has(run_text(spec, result, 10), "  MFLOPS  A"));
  CHECK(metrics_text(spec, record_of(1, 2.0)) == "MFLOPS 500");
  CHECK(run_json(spec, result, 10)["best"]["metrics"]["TFLOPS"] == doctest::Approx(0.0005));
}

TEST_CASE("A table fits its reader's columns") {
  using enum FittedTable::Kind;
  FittedTable table{{{"#"}, {"time"}, {"TILE", parameter}, {"PAD", parameter}, {"why", text}},
                    {{"1", "2.0 ms", "8", "1", "because it is so"}, {"2", "3.0 ms", "16", "1", "just because"}}};
  table.end = "... 3 more";
  CHECK(render_fitted(table, 80) ==
        "#    time  TILE  why\n"
        "-  ------  ----  ----------------\n"
        "1  2.0 ms     8  because it is so\n"
        "2  3.0 ms    16  just because\n"
        "... 3 more\nsame in all rows: PAD=1\n");
  CHECK(render_fitted(table, 24) ==
        "#    time  TILE\n"
        "-  ------  ----\n"
        "1  2.0 ms     8\n   because it is so\n"
        "2  3.0 ms    16\n   just because\n"
        "... 3 more\nsame in all rows: PAD=1\n");
  CHECK(render_fitted(table, 12) ==
        "#    time\n"
        "-  ------\n"
        "1  2.0 ms\n   TILE=8\n   because\n   it is so\n"
        "2  3.0 ms\n   TILE=16\n   just\n   because\n"
        "... 3 more\nsame in all\n  rows:\n  PAD=1\n");
  // One row has nothing to be the same as.
  table = {{{"#"}, {"PAD", parameter}}, {{"1", "1"}}};
  CHECK(render_fitted(table, 80) == "#  PAD\n-  ---\n1    1\n");
  CHECK(render_fitted({{{"#"}, {"PAD", parameter}}}, 80) == "#  PAD\n-  ---\n");
  // Remarks without a text and what is the same everywhere are omitted.
  table = {{{"#"}, {"problem", context}, {"message", remark}}, {{"1", "N=1", ""}, {"2", "N=1", ""}}};
  CHECK(render_fitted(table, 80) == "#\n-\n1\n2\n");
  table.rows[1] = {"2", "N=2", "failed"};
  CHECK(render_fitted(table, 80) == "#  problem  message\n-  -------  -------\n1  N=1\n2  N=2      failed\n");
  // A remark is said once.
  table = {{{"#"}, {"config", text}, {"message", remark}}, {{"1", "A=1", "failed"}, {"2", "A=2", "failed"}}};
  CHECK(render_fitted(table, 80) ==
        "#  config  message\n-  ------  --------\n1  A=1     failed\n2  A=2     as above\n");
  CHECK(render_fitted(table, 8) == "#\n-\n1\n   A=1\n   failed\n2\n   A=2:\n   as\n   above\n");
}

TEST_CASE("The default configuration has the time of its row in the table") {
  TuneResult result = result_of({record_of(1, 2.0), record_of(2, 3.0)});
  // It was measured once more, on a busy machine: the first time counts.
  result.further.push_back(record_of(2, 9.0));
  result.further.back().tainted = {"the CPUs were busy"};
  result.further.back().unix_time_ms = 1;
  result.default_config = result.records[1].config;
  const std::string text = run_text(spec_with(""), result, 10);
  CHECK(has(text, "2  3.00 ms    1.500"));
  CHECK(has(text, "default: 3.00 ms, 1.5 times the time of the best"));
  CHECK(run_json(spec_with(""), result, 10)["default"]["time_ms"] == 3.0);
}

TEST_CASE("A reference configuration is not compared with itself") {
  Spec spec = spec_with("");
  spec.validate.reference.config = record_of(1, 2.0).config;
  TuneResult result = result_of({record_of(1, 2.0), record_of(2, 4.0)});
  for (Record& record : result.records) record.reference = ReferenceTime{"k at B=2 A=1", {2.1, 2.1, 2.1}};
  const std::string text = run_text(spec, result, 10);
  CAPTURE(text);
  CHECK(has(text, "speed-up"));
  CHECK_FALSE(has(text, "1.05"));
  CHECK(has(text, "0.525"));
  CHECK(has(text, "      validated only against itself: it is the spec's reference\n"));
  CHECK_FALSE(run_json(spec, result, 10)["best"].contains("speedup"));
  CHECK(run_json(spec, result, 10)["top"][1]["speedup"] == 0.525);
  result.records.front().time_ms = result.records.back().time_ms;
  result.records.back() = record_of(2, 1.0);
  CHECK_FALSE(has(run_text(spec, result, 10), "against itself"));
}

TEST_CASE("A faster reference says less about a GPU where a CPU ran the kernels") {
  TuneResult result = result_of({record_of(1, 2.0)});
  result.records.front().reference = ReferenceTime{"serial", {1, 1, 1}};
  const std::string faster = "warning: the reference 'serial' is faster than every configuration: 1.00 ms, 2 times as ";
  CHECK(has(run_text(spec_with(""), result, 10), faster + "fast as the best\n"));
  result.records.front().device.backend = "host";
  CHECK(has(run_text(spec_with(""), result, 10), faster + "fast as the best; the host backend runs GPU kernels on a "));
  // Its samples reach beyond the best one's.
  result.records.front().reference->samples_ms = {1.9, 1.7, 2.4};
  CHECK(has(run_text(spec_with(""), result, 10),
            "      reference: serial, 1.90 ms: 0.95 times the time of the best (within "));
  CHECK_FALSE(has(run_text(spec_with(""), result, 10), "faster than every"));
}

TEST_CASE("The next one is not certain to be slower where others that were disturbed are closer") {
  TuneResult result = result_of({record_of(1, 2.0), record_of(2, 2.1), record_of(3, 4.0), record_of(4, 9.0)});
  for (const std::size_t i : {1, 3}) result.records[i].tainted = {"the CPUs were busy"};
  CHECK(has(run_text(spec_with(""), result, 10),
            "      the next one takes 2.000 times as long (2.000 .. 2.000), but 1 other is closer and disturbed: "
            "measure again\n"));
  result.records[1].time_ms = result.records[3].time_ms;
  CHECK(has(run_text(spec_with(""), result, 10), "      certain: the next one takes 2.000 times as long "));
}

TEST_CASE("Lines are wrapped under their words; commands and marked code stay whole") {
  CHECK(wrapped_lines("config:   TILE=16 PAD=1\n", 18) == "config:   TILE=16\n         PAD=1\n");
  CHECK(wrapped_lines("  try `xtune run a.toml`, or not\n", 20) == "  try\n    `xtune run a.toml`,\n    or not\n");
  CHECK(wrapped_lines("x: it is wrong, all of it:\n  int a = b + c + d + e;\n          ^\n", 16) ==
        "x: it is wrong,\n   all of it:\n  int a = b + c + d + e;\n          ^\n");
  CHECK(wrapped_lines("short\nbest: TILE=16 PAD=1 UNROLL=4\n      1.00 ms, and 2.00 ms\n", 16) ==
        "short\nbest: TILE=16\n      PAD=1\n      UNROLL=4\n      1.00 ms,\n        and 2.00\n        ms\n");
}

TEST_CASE("The progress line keeps what matters most, in whole words") {
  const Spec spec = parse_spec(
      "[kernel]\nname = \"k\"\n[space.params]\nTILE_M = [64, 128]\nTILE_N = [64, 128]\nSTAGES = [2, 3]\nWARPS = [4, "
      "8]\n",
      "k.toml", ".");
  Record best;
  best.config = {{"TILE_M", std::int64_t{128}},
                 {"TILE_N", std::int64_t{64}},
                 {"STAGES", std::int64_t{3}},
                 {"WARPS", std::int64_t{8}}};
  best.samples_ms = {0.0544};
  best.time_ms = summarize(best.samples_ms);
  Bindings usual = best.config;
  usual["STAGES"] = std::int64_t{2}, usual["WARPS"] = std::int64_t{4}, usual["TILE_M"] = std::int64_t{64};
  Progress progress{.done = 9, .total = 24, .waiting = 15, .elapsed_s = 1, .best = &best, .default_config = &usual};
  const auto line = [&](std::size_t width) {
    const std::string text = progress_line(spec, progress, width);
    if (width > 0) CHECK(columns_of(text) <= width);
    return text;
  };
  const std::string head = "[9/24] best 54.4 us", config = "TILE_M=128 TILE_N=64 STAGES=3 WARPS=8";
  CHECK(line(0) == head + " | 9.0 configs/s, 1.7 s left | 0 compiling, 15 waiting | " + config);
  CHECK(line(200) == line(0));
  CHECK(line(90) == head + " | 9.0 configs/s, 1.7 s left | " + config);
  CHECK(line(79) == head + " | 1.7 s left | " + config);
  CHECK(line(65) == head + " | 1.7 s left | TILE_M=128 STAGES=3 WARPS=8");
  CHECK(line(58) == head + " | 1.7 s left | TILE_M=128 STAGES=3 ...");
  CHECK(line(49) == head + " | 1.7 s left | TILE_M=128 ...");
  CHECK(line(47) == head + " | 1.7 s left");
  CHECK(line(30) == head);
  CHECK(line(12).empty());
  progress.default_config = &best.config;
  CHECK(line(65) == head + " | 1.7 s left | TILE_M=128 TILE_N=64 ...");
  progress.finals = true;
  progress.done = 24;
  CHECK(line(120) == "[24/24] best 54.4 us | 24.0 configs/s | measuring the best again, side by side | " + config);
  CHECK(line(79) == "[24/24] best 54.4 us | finals | " + config);
  progress = {.total = 24, .compiling = 3, .elapsed_s = 2.4};
  CHECK(line(79) == "[0/24] compiling 3, 2 s");
  CHECK(line(20) == "[0/24]");
}

TEST_CASE("Tables align numbers right and text left, by code points") {
  CHECK(render_table({"#", "name", "time"}, {{"1", "a", "2.5 ms"}, {"10", "long", "-"}}) ==
        " #  name    time\n"
        "--  ----  ------\n"
        " 1  a     2.5 ms\n"
        "10  long       -\n");
  CHECK(render_table({"µ"}, {{"ab"}}) == "µ\n--\nab\n");
  CHECK(render_table({"a", "b"}, {{"1"}}) == "a  b\n-  -\n1\n");
  CHECK(render_table({"a"}, {}) == "a\n-\n");
  // A value may hold anything, and stays one cell.
  CHECK(render_table({"a", "b"}, {{"x\ny\tz", "1"}}) == "a        b\n-------  -\nx\\ny\\tz  1\n");
}
