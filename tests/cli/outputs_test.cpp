// All outputs of one noisy run show the same times, in the same order.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>

#include "base/text.hpp"
#include "cli/cli.hpp"

using namespace xtune::base;
using namespace xtune::system;

using namespace xtune;
using namespace xtune::cli_test;

namespace {

/// A program that takes 1 ms and 3 % more for each step of A, with a noise of 2 %; from a configuration's eighth run
/// on, which is in the finals, the machine is slower by 37 %.
struct Noisy : Cli {
  std::string spec;
  Noisy() {
    write("time.sh",
          "n=$(cat calls-$1 2>/dev/null || echo 0); n=$((n + 1)); echo $n >calls-$1\n"
          "us=$((1000 + 30 * ($1 > 2 ? $1 : 2) + (n * 7919 + $1 * 104729) % 21))\n"
          "[ $n -lt 8 ] || us=$((us * 137 / 100))\n"
          "echo us=$us\n");
    spec = write("noisy.toml",
                 "[kernel]\nname = \"noisy\"\n[problem]\nN = 8\n[space.params]\nA = { min = 1, max = 14 }\n"
                 "[process]\nrun = \"sh time.sh {A}\"\ntime = { regex = 'us=(\\S+)', unit = \"us\" }\n"
                 "[metrics]\nrate = \"N / time_s\"\n"
                 "[measure]\nrep = 12\nmin_rep = 5\nwarmup = 0\nmax_time_ms = 6\nrace = false\nfinals = 6\n");
  }
  std::string text(std::vector<std::string> arguments) const {
    const CommandResult result = xtune(std::move(arguments));
    INFO(result.stderr_text);
    REQUIRE(result.exit_code == 0);
    return result.stdout_text;
  }
};

/// Runs of blanks as one: cells of tables are aligned.
std::string one_blank(const std::string& text) {
  std::string result;
  std::unique_copy(text.begin(), text.end(), std::back_inserter(result),
                   [](char a, char b) { return a == ' ' && b == ' '; });
  return result;
}

std::int64_t a_of(const json& row) { return row.at("config").at("A").get<std::int64_t>(); }

}  // namespace

TEST_CASE("table, best, CSV, JSON, report and exports of a run whose machine became slower agree") {
  const Noisy cli;
  const json run = json::parse(cli.text({"run", cli.spec, "--format", "json", "--top", "14", "--quiet"}));
  REQUIRE(run["top"].size() == 14);
  CHECK(run["finals"]["slowdown"].get<double>() == doctest::Approx(1.37).epsilon(0.02));
  const json& best = run["best"];
  std::map<std::int64_t, double> time_ms;
  for (const json& row : run["top"]) {
    const double own = row["time_ms"];
    CAPTURE(row.dump());
    CHECK(own == doctest::Approx(row["vs_best"].get<double>() * best["time_ms"].get<double>()));
    // The best may be a tie with fewer resources.
    if (time_ms.size() > 1) CHECK(own >= run["top"][time_ms.size() - 1]["time_ms"].get<double>());
    const std::int64_t a = a_of(row);
    time_ms[a] = own;
    CHECK(row["vs_best"].get<double>() ==
          doctest::Approx((1000.0 + 30 * std::max<std::int64_t>(a, 2)) / 1060).epsilon(0.025));
    CHECK(row["metrics"]["rate"].get<double>() == doctest::Approx(8e3 / own));
    const bool tie =
        std::any_of(best["ties"].begin(), best["ties"].end(), [&](const json& one) { return one["A"] == a; });
    CHECK(tie == (a <= 2 && a != a_of(best)));
    if (!tie && a != a_of(best)) CHECK(row["vs_best_interval"][0] > 1);
  }
  CHECK(a_of(run["top"][0]) == a_of(best));
  CHECK(run["top"][0]["time_ms"] == best["time_ms"]);
  double least = 1e9;
  for (const json& event : run["trace"]) {
    CHECK(event["time_ms"].get<double>() == doctest::Approx(time_ms.at(a_of(event))));
    least = std::min(least, event["time_ms"].get<double>());
  }
  CHECK(least >= best["time_ms"].get<double>() * 0.99);

  // The same from the store, without a measurement.
  const std::string table = one_blank(cli.text({"run", cli.spec, "--top", "14", "--quiet"}));
  std::size_t at = 0;
  for (const json& row : run["top"]) {
    const std::string shown = fmt::format("{} {:.3f}", human_time_ms(row["time_ms"]), row["vs_best"].get<double>());
    CAPTURE(shown);
    CAPTURE(table);
    at = table.find(shown, at);
    REQUIRE(at != std::string::npos);
  }
  const std::string winner = human_time_ms(best["time_ms"]);
  CHECK(has(table.substr(at), "\nbest: A=" + std::to_string(a_of(best)) + "\n " + winner + " ("));
  CHECK(has(table, "the device was 37 % slower than in the search"));

  const json looked_up = json::parse(cli.text({"best", cli.spec, "--format", "json"}));
  CHECK(looked_up["best"]["config"] == best["config"]);
  CHECK(looked_up["best"]["time_ms"] == best["time_ms"]);
  CHECK(has(cli.text({"best", cli.spec}), winner));
  for (const char* command : {"run", "best"})
    CHECK(has(cli.text({command, cli.spec, "--format", "csv"}), "," + best["time_ms"].dump() + ","));
  const json exported = json::parse(cli.text({"store", "export", "--format", "json"}));
  CHECK(exported[0]["time_ms"] == best["time_ms"]);
  CHECK(has(cli.text({"store", "export", "--format", "header"}), fmt::format("{}", best["time_ms"].get<double>())));

  cli.text({"run", cli.spec, "--top", "14", "--quiet", "--report", cli.path("run.html")});
  cli.text({"report", cli.spec, "-o", cli.path("stored.html")});
  for (const char* name : {"run.html", "stored.html"}) {
    const std::string page = read_file(cli.path(name));
    CHECK(has(page, "<p class=\"big\">" + winner + "</p>"));
    for (const auto& [a, own_ms] : time_ms) CHECK(has(page, "<td class=\"r\">" + human_time_ms(own_ms) + "</td>"));
  }
}
