// xtune report, run --report, and tables as CSV.
#include <doctest/doctest.h>

#include "cli.hpp"
#include "support/http.hpp"

using namespace xtune::system;

using namespace xtune;
using namespace xtune::cli_test;

namespace {

std::size_t count_of_lines(const std::string& text) {
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

}  // namespace

TEST_CASE("A run writes a report, and the store gives the same answer afterwards") {
  const Cli cli;
  const std::string spec = cli.copy_spec("[1, 2, 64]");
  const CommandResult run = cli.run(spec, {"--report", cli.path("run.html")});
  CAPTURE(run.stderr_text);
  REQUIRE(run.exit_code == 0);
  CHECK(has(run.stderr_text, "run.html: 1 problem, 3 records"));
  const json answer = parsed(run);
  const std::string variant = answer["best"]["config"]["VARIANT"].dump();
  const std::string best = "<dt>VARIANT</dt><dd>" + variant + "</dd>";
  const std::string page = read_file(cli.path("run.html"));
  CHECK(page.starts_with("<!DOCTYPE html>"));
  CHECK(has(page, best));
  CHECK(has(page, "xtune run"));
  // 64 * 32 threads are more than a block may have.
  CHECK(has(page, "<th scope=\"row\">rejected</th><td class=\"r\">1</td>"));

  const CommandResult of_spec =
      cli.xtune({"report", spec, "--backend", "host", "--format", "json", "-o", cli.path("spec.html")});
  CAPTURE(of_spec.stderr_text);
  REQUIRE(of_spec.exit_code == 0);
  const json written = parsed(of_spec);
  CHECK(written["report"] == cli.path("spec.html"));
  CHECK(written["problems"] == 1);
  CHECK(written["records"] == 3);
  CHECK(written["answered"] == 1);
  CHECK(written["bytes"] == fs::file_size(cli.path("spec.html")));
  CHECK(has(read_file(cli.path("spec.html")), best));

  const CommandResult of_store = cli.xtune({"report", cli.path("cache"), "-o", cli.path("store.html")});
  REQUIRE(of_store.exit_code == 0);
  CHECK(has(of_store.stdout_text, "store.html: 1 problem, 3 records"));
  CHECK(has(read_file(cli.path("store.html")), best));
}

TEST_CASE("Problems of one kernel with other parameters each show their own configuration") {
  const Cli cli;
  const std::string spec = cli.copy_spec("[1]");
  REQUIRE(cli.run(spec).exit_code == 0);
  std::string text = read_file(spec);
  for (std::size_t at; (at = text.find("VARIANT")) != std::string::npos;) text.replace(at, 7, "WIDTH");
  REQUIRE(cli.run(cli.write("other.toml", text), {"-D", "N=64"}).exit_code == 0);
  REQUIRE(cli.xtune({"report", cli.path("cache"), "-o", cli.path("all.html")}).exit_code == 0);
  const std::string page = read_file(cli.path("all.html"));
  CHECK(has(page, "<dt>VARIANT</dt><dd>1</dd>"));
  CHECK(has(page, "<dt>WIDTH</dt><dd>1</dd>"));
}

TEST_CASE("Each problem of a spec is in the report, and one without an answer says so") {
  const Cli cli;
  const std::string spec = cli.copy_spec("[1, 2]");
  REQUIRE(cli.run(spec, {"-D", "N=64"}).exit_code == 0);
  REQUIRE(cli.run(spec, {"-D", "N=128"}).exit_code == 0);
  CHECK(cli.xtune({"report", cli.path("cache"), "-o", cli.path("all.html")}).exit_code == 0);
  const std::string page = read_file(cli.path("all.html"));
  CHECK(has(page, "<a href=\"#case-1\">N=128</a>"));
  CHECK(has(page, "<a href=\"#case-2\">N=64</a>"));
  CHECK(has(page, "One configuration for all 2 problems of copy"));
  const CommandResult one = cli.xtune({"report", cli.path("cache"), "-D", "N=64", "-o", cli.path("one.html")});
  CHECK(has(one.stdout_text, "1 problem, 2 records"));
  // Nothing is stored that could answer.
  fs::remove_all(cli.path("cache") + "/records");
  const CommandResult none = cli.xtune({"report", spec, "--backend", "host", "-o", cli.path("none.html")});
  CHECK(none.exit_code == 3);
  CHECK(has(read_file(cli.path("none.html")), "No configuration passed"));
}

TEST_CASE("A report of what is not there is an error that says what to do") {
  const Cli cli;
  const CommandResult no_file = cli.xtune({"report", cli.path("none.toml")});
  CHECK(no_file.exit_code == 2);
  CHECK(has(no_file.stderr_text, "none.toml"));
  REQUIRE(cli.run(cli.copy_spec("[1]")).exit_code == 0);
  const CommandResult kernel = cli.xtune({"report", cli.path("cache"), "--kernel", "cpy"});
  CHECK(kernel.exit_code == 2);
  CHECK(has(kernel.stderr_text, "(did you mean 'copy'?)"));
  const CommandResult size = cli.xtune({"report", cli.path("cache"), "-D", "N=5"});
  CHECK(size.exit_code == 3);
  const CommandResult of_spec = cli.xtune({"report", cli.path("copy.toml"), "--kernel", "copy"});
  CHECK(of_spec.exit_code == 2);
  CHECK(has(of_spec.stderr_text, "--kernel"));
  const CommandResult folder =
      cli.xtune({"report", cli.path("copy.toml"), "--backend", "host", "-o", cli.path("cache")});
  CHECK(folder.exit_code == 1);
}

TEST_CASE("The JSON of a run has the trace of all that it tried") {
  const Cli cli;
  const std::string spec = cli.copy_spec("[1, 2, 64]");
  for (int i = 0; i < 2; ++i) {  // measured, then answered by the store
    const json trace = parsed(cli.run(spec, {"--rows", "1"}))["trace"];
    REQUIRE(trace.size() == 3);
    double before = 0;
    std::size_t rejected = 0;
    for (const json& row : trace) {
      CHECK(row["seconds"] >= before);
      before = row["seconds"];
      if (row["outcome"] == "ok") {
        CHECK(row["time_ms"] > 0);
        CHECK_FALSE(row.contains("message"));
      } else {
        ++rejected;
        CHECK(row["outcome"] == "rejected");
        CHECK(row["config"]["VARIANT"] == 64);
        CHECK(row["time_ms"].is_null());
        CHECK_FALSE(row["message"].get<std::string>().empty());
      }
    }
    CHECK(rejected == 1);
  }
}

TEST_CASE("Tables of run and best, and all records of a store, are CSV on request") {
  const Cli cli;
  const std::string spec = cli.copy_spec("[1, 2, 64]");
  const CommandResult run = cli.xtune({"run", spec, "--backend", "host", "--format", "csv"});
  REQUIRE(run.exit_code == 0);
  CHECK(run.stdout_text.starts_with("kernel,device,problem.N,rank,config.VARIANT,time_ms,low_ms,high_ms"));
  CHECK(count_of_lines(run.stdout_text) == 3);
  const CommandResult best = cli.xtune({"best", spec, "--backend", "host", "--format", "csv"});
  CHECK(best.stdout_text.starts_with("kernel,problem.N,match,config.VARIANT,time_ms"));
  CHECK(count_of_lines(best.stdout_text) == 2);
  CHECK(has(best.stdout_text, "\ncopy,4096,exact,"));
  const CommandResult stored = cli.xtune({"store", "export", "--format", "csv"});
  REQUIRE(stored.exit_code == 0);
  CHECK(count_of_lines(stored.stdout_text) == 4);
  CHECK(has(stored.stdout_text, ",rejected,"));
  CHECK(cli.xtune({"check", spec, "--format", "csv"}).exit_code == 2);
}

TEST_CASE("best --top counts the values of the best configurations") {
  const Cli cli;
  const std::string spec = cli.copy_spec("[1, 2, 3, 4]", "[objective]\nminimize = \"VARIANT\"\n");
  REQUIRE(cli.run(spec).exit_code == 0);
  const auto best = [&](const std::string& share, const std::string& format) {
    return cli.xtune({"best", spec, "--backend", "host", "--top", share, "--format", format});
  };
  CHECK(has(best("50%", "text").stdout_text,
            "among the best 50 % (2 of 4 measured configurations):\n"
            "parameter  value  among these  of all measured\n"
            "---------  -----  -----------  ---------------\n"
            "VARIANT        1         50 %             25 %\n"
            "               2         50 %             25 %\n"));
  const json top = parsed(best("1%", "json"))["top_values"];
  CHECK(top["best"] == 1);
  CHECK(top["measured"] == 4);
  CHECK(top["parameters"]["VARIANT"][0] == json{{"value", 1}, {"best", 1.0}, {"measured", 0.25}});
  CHECK(top["parameters"]["VARIANT"].size() == 4);
  for (const char* share : {"0", "0%", "101%", "5", "many", "-1%"}) {
    CAPTURE(share);
    const CommandResult refused = best(share, "text");
    CHECK(refused.exit_code == 2);
    CHECK(has(refused.stderr_text, "--top"));
  }
  CHECK(has(best("5%", "csv").stderr_text, "--top prints text or JSON"));
  // Nothing is stored for this problem.
  const CommandResult none = cli.xtune({"best", spec, "--backend", "host", "--top", "5%", "-D", "N=99"});
  CHECK_FALSE(has(none.stdout_text, "among the best"));
}

TEST_CASE("A run serves its report while it goes on, and its last state at the end") {
  const Cli cli;
  const std::string spec = cli.slow_copy_spec("[1, 2, 3, 4, 5, 6]");
  Running run(cli, Cli::run_arguments(spec, {"--live"}));
  REQUIRE(run.wait_until([&] { return cli.stored_records() >= 2; }));
  const std::size_t at = run.err.find("report: http://127.0.0.1:");
  REQUIRE(at != std::string::npos);
  const std::string address = run.err.substr(at + 8, run.err.find('\n', at) - at - 8);
  const std::string during = test::get(address);
  CHECK(during.starts_with("HTTP/1.1 200"));
  CHECK(has(during, "data-live=\"running\""));
  CHECK(has(during, "connect-src 'self'"));
  CHECK(has(during, "<h1>copy</h1>"));
  std::string last;
  while (!has(last, "data-live=\"ended\"")) {
    const std::string next = test::get(address);
    if (next.empty()) break;
    last = next;
  }
  REQUIRE(run.wait_for_end());
  CHECK(run.exit_code == 0);
  CHECK(has(last, "data-live=\"ended\""));
  const json result = json::parse(run.out);
  CHECK(result["counts"]["ok"] == 6);
  CHECK(has(last, "<dt>VARIANT</dt><dd>" + result["best"]["config"]["VARIANT"].dump() + "</dd>"));
}

TEST_CASE("A port that is no port is refused, and a report as a file has no word of a run that goes on") {
  const Cli cli;
  const std::string spec = cli.copy_spec("[1]");
  for (const char* port : {"--live=65536", "--live=0", "--live=-1", "--live=http"}) {
    const CommandResult refused = cli.run(spec, {port});
    CHECK(refused.exit_code == 2);
    CHECK(has(refused.stderr_text, "--live"));
  }
  REQUIRE(cli.run(spec, {"--report", cli.path("run.html")}).exit_code == 0);
  const std::string page = read_file(cli.path("run.html"));
  CHECK_FALSE(has(page, "<html lang=\"en\" data-live"));
  CHECK_FALSE(has(page, "connect-src"));
}
