// The store's commands on a store that a run has filled, and runs whose store is of no use.
#include <doctest/doctest.h>

#include "cli.hpp"

using namespace xtune::system;

using namespace xtune;
using namespace xtune::cli_test;

namespace {

/// stdout of a command that must succeed.
std::string done(const CommandResult& result) {
  INFO("stderr: " << result.stderr_text);
  CHECK(result.exit_code == 0);
  return result.stdout_text;
}

}  // namespace

TEST_CASE("store lists, checks, merges, exports and packs what a run left") {
  const Cli cli;
  const json run = parsed(cli.run(cli.copy_spec()));
  const json best = run["best"]["config"];
  const json list = parsed(cli.xtune({"store", "ls", "--format", "json"}));
  REQUIRE(list["kernels"].size() == 1);
  CHECK(list["kernels"][0]["kernel"] == "copy");
  CHECK(list["kernels"][0]["records"] == 3);
  CHECK(list["kernels"][0]["answers"] == 1);
  CHECK(list["artifacts"]["count"].get<int>() >= 1);
  const std::string arch = list["kernels"][0]["arch"];
  const std::string table = done(cli.xtune({"store", "ls"}));
  CHECK(has(table, "kernel  records  problems      newest"));
  CHECK(has(table, "copy          3         1  20"));
  CHECK(has(done(cli.xtune({"store", "verify"})), "nothing damaged"));
  CHECK(parsed(cli.xtune({"store", "gc", "--dry-run", "--format", "json"}))["removed"].empty());

  const std::string other = cli.path("other");
  CHECK(parsed(cli.xtune({"store", "merge", cli.path("cache"), "--store", other, "--format", "json"}))["records"] == 3);
  CHECK(parsed(cli.xtune({"store", "merge", cli.path("cache"), "--store", other, "--format", "json"}))["records"] == 0);
  CHECK(parsed(cli.run(cli.copy_spec(), {"--store", other}))["from_store"] == 3);

  const json winners = json::parse(done(cli.xtune({"store", "export"})));
  REQUIRE(winners.size() == 1);
  CHECK(winners[0]["config"] == best);
  CHECK(has(done(cli.xtune({"store", "export", "--format", "header"})), "namespace xtune_best::copy"));
  done(cli.xtune({"store", "export", "--format", "kernel-tuner", "-D", "N=4096", "-o", cli.path("t4.json")}));
  CHECK(json::parse(read_file(cli.path("t4.json")))["results"].size() == 3);
  const json imported =
      parsed(cli.xtune({"import", "kernel-tuner", cli.path("t4.json"), "-o", cli.path("t4"), "--format", "json"}));
  CHECK(imported["configs"] == 3);
  CHECK(imported["counts"]["ok"] == 3);
  CHECK(parsed(cli.xtune({"run", imported["spec"], "--format", "json"}))["best"].is_object());
  const json bundle = parsed(cli.xtune(
      {"store", "bundle", "-o", cli.path("copy.xtune"), "--arch", arch, "--kernel", "copy", "--format", "json"}));
  CHECK(bundle["records"] == 1);
  CHECK(bundle["artifacts"] == 1);
  CHECK(bundle["bytes"] == fs::file_size(cli.path("copy.xtune")));
}

TEST_CASE("damage is an exit code, a line, and repaired on request") {
  const Cli cli;
  REQUIRE(cli.run(cli.copy_spec()).exit_code == 0);
  fs::path file;
  for (const auto& entry : fs::recursive_directory_iterator(cli.path("cache") + "/records"))
    if (entry.is_regular_file()) file = entry.path();
  std::ofstream(file, std::ios::app) << "rubbish\n";
  const CommandResult found = cli.xtune({"store", "verify"});
  CHECK(found.exit_code == 1);
  CHECK(has(found.stdout_text, file.string() + ":5: not JSON"));
  CHECK(has(found.stdout_text, "--repair"));
  CHECK(parsed(cli.xtune({"store", "verify", "--format", "json"}))["sound"] == false);
  CHECK(has(done(cli.xtune({"store", "verify", "--repair"})), "moved aside"));
  CHECK(has(done(cli.xtune({"store", "verify"})), "3 sound records"));
  CHECK(read_file(file.string() + ".damaged") == "rubbish\n");
}

TEST_CASE("repair does not touch files that a process of another container with this machine's name may still write") {
  const Cli cli;
  const std::vector<std::string> container{"unshare", "-p", "-f", "--mount-proc"};
  std::vector<std::string> command = container;
  command.emplace_back("true");
  if (cli.command(command).exit_code != 0) {
    MESSAGE("skipped: no PID namespaces here");
    return;
  }
  command = container;
  command.emplace_back(XTUNE_PROGRAM);
  for (const std::string& word : Cli::run_arguments(cli.copy_spec(), {})) command.push_back(word);
  REQUIRE(cli.command(command).exit_code == 0);
  fs::path file;
  for (const auto& entry : fs::recursive_directory_iterator(cli.path("cache") + "/records"))
    if (entry.is_regular_file()) file = entry.path();
  std::ofstream(file, std::ios::app) << "rubbish\n";
  const std::string before = read_file(file);
  const CommandResult result = cli.xtune({"store", "verify", "--repair"});
  CHECK(result.exit_code == 1);
  CHECK(has(result.stderr_text, "its run may still write it"));
  CHECK(read_file(file) == before);
}

TEST_CASE("merge takes from stores, and says with its exit code where it could not read one") {
  const Cli cli;
  REQUIRE(cli.run(cli.copy_spec()).exit_code == 0);
  fs::create_directories(cli.path("empty"));
  const CommandResult none = cli.xtune({"store", "merge", cli.path("empty")});
  CHECK(none.exit_code == 2);
  CHECK(has(none.stderr_text, "is not a store: it has neither records nor artifacts"));
  fs::create_directories(cli.path("linked"));
  fs::create_symlink(cli.path("cache") + "/records", cli.path("linked") + "/records");
  CHECK(cli.xtune({"store", "merge", cli.path("linked"), "--store", cli.path("other")}).exit_code == 1);
}

TEST_CASE("store ls dates failures, and verify does not promise to move a directory") {
  const Cli cli;
  const std::string spec = cli.copy_spec("[1]");
  cli.write("copy.cu", "extern \"C\" __global__ void copy(const float* x, float* y, int n) { no such thing; }\n");
  CHECK(cli.run(spec).exit_code == 3);
  const std::string list = done(cli.xtune({"store", "ls"}));
  CHECK(has(list, "copy          1         0  20"));
  fs::path folder;
  for (const auto& entry : fs::recursive_directory_iterator(cli.path("cache") + "/records"))
    if (entry.is_regular_file()) folder = entry.path().parent_path();
  fs::create_directories(folder / "directory.jsonl");
  const CommandResult found = cli.xtune({"store", "verify"});
  CHECK(found.exit_code == 1);
  CHECK(has(found.stdout_text, "--repair cannot move any of it aside"));
}

TEST_CASE("a store that cannot be read is told with an exit code, one whose part cannot answers with the rest") {
  const Cli cli;
  REQUIRE(cli.run(cli.copy_spec()).exit_code == 0);
  const fs::path records = cli.path("cache") + "/records", circle = records / "circle";
  fs::create_symlink(circle, circle);
  for (const char* command : {"ls", "export"}) {
    const CommandResult partly = cli.xtune({"store", command});
    CHECK(has(done(partly), "copy"));
    CHECK(has(partly.stderr_text, "cannot read " + circle.string()));
  }
  CHECK(cli.xtune({"store", "verify"}).exit_code == 1);
  fs::remove_all(cli.path("cache"));
  fs::create_directories(cli.path("cache"));
  cli.write("cache/records", "no folder");
  for (const char* command : {"ls", "verify", "export"}) {
    const CommandResult nothing = cli.xtune({"store", command});
    CHECK(nothing.exit_code == 1);
    CHECK(has(nothing.stdout_text + nothing.stderr_text, records.string()));
    CHECK(has(nothing.stdout_text + nothing.stderr_text, "Not a directory"));
  }
  fs::remove(cli.path("cache") + "/records");
  CHECK(has(done(cli.xtune({"store", "ls"})), "no records"));
}

TEST_CASE("a cause is one warning, however many lines it befalls") {
  const Cli cli;
  const std::string spec = cli.copy_spec();
  REQUIRE(cli.run(spec).exit_code == 0);
  for (const auto& entry : fs::recursive_directory_iterator(cli.path("cache") + "/records"))
    if (entry.is_regular_file()) std::ofstream(entry.path(), std::ios::app) << "rubbish\nrubbish\nrubbish\n";
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"store", "ls"}, {"best", spec, "--backend", "host"}}) {
    const std::string warnings = cli.xtune(arguments).stderr_text;
    CHECK(std::count(warnings.begin(), warnings.end(), '\n') == 1);
    CHECK(has(warnings, ":5: skipped: not JSON (3 times)"));
  }
}

TEST_CASE("export takes the problem that -D names, in every format") {
  const Cli cli;
  const std::string spec = cli.copy_spec("[1]");
  for (const char* size : {"N=64", "N=128"}) REQUIRE(cli.run(spec, {"-D", size}).exit_code == 0);
  const json winners = json::parse(done(cli.xtune({"store", "export", "-D", "N=128"})));
  REQUIRE(winners.size() == 1);
  CHECK(winners[0]["problem"]["N"] == 128);
  const std::string header = done(cli.xtune({"store", "export", "--format", "header", "-D", "N=64"}));
  CHECK(has(header, "{64LL}"));
  CHECK_FALSE(has(header, "{128LL}"));
  const CommandResult unknown = cli.xtune({"store", "export", "-D", "n=64"});
  CHECK(unknown.exit_code == 2);
  CHECK(has(unknown.stderr_text, "did you mean 'N'?"));
  CHECK(cli.xtune({"store", "export", "-D", "N=5"}).exit_code == 3);
}

TEST_CASE("an export of a spec is of its present source, and of its kernel only") {
  const Cli cli;
  const std::string spec = cli.copy_spec("[1]"), source = read_file(cli.path("copy.cu"));
  const auto key = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {"store", "export"});
    const json winners = json::parse(done(cli.xtune(more)));
    REQUIRE(winners.size() == 1);
    return winners[0]["key"].get<std::string>();
  };
  REQUIRE(cli.run(spec).exit_code == 0);
  const std::string right = key({});
  cli.write("copy.cu", "// mistaken\n" + source);
  const CommandResult none = cli.xtune({"store", "export", spec});
  CHECK(none.exit_code == 3);
  CHECK(has(none.stderr_text, "the store has 1 record of this kernel, and none of the spec as it is now"));
  REQUIRE(cli.run(spec).exit_code == 0);
  CHECK(key({}) != right);
  cli.write("copy.cu", source);
  CHECK(key({spec}) == right);
  std::string other = read_file(spec);
  REQUIRE(cli.run(cli.write("other.toml", other.replace(other.find("\"copy\""), 6, "\"other\""))).exit_code == 0);
  CHECK(key({spec}) == right);
  CHECK(has(done(cli.xtune({"store", "export", spec, "--format", "csv"})), right));
  CHECK(cli.xtune({"store", "export", spec, "--kernel", "copy"}).exit_code == 2);
}

TEST_CASE("a later try that does not build hides no result of the earlier source") {
  const Cli cli;
  const std::string spec = cli.copy_spec("[1, 2]"), source = read_file(cli.path("copy.cu"));
  REQUIRE(cli.run(spec).exit_code == 0);
  cli.write("copy.cu", source + "#error broken\n");
  REQUIRE(cli.run(spec).exit_code == 3);
  CHECK(json::parse(done(cli.xtune({"store", "export"}))).size() == 1);
  const json report =
      parsed(cli.xtune({"report", cli.path("cache"), "--format", "json", "-o", cli.path("report.html")}));
  CHECK(report["answered"] == 1);
}

TEST_CASE("rm lists what would go of a kernel, and with --force removes only that") {
  const Cli cli;
  const std::string spec = cli.copy_spec("[1]");
  std::string text = read_file(spec);
  const std::string other = cli.write("other.toml", text.replace(text.find("\"copy\""), 6, "\"other\""));
  cli.write("copy.cu", read_file(cli.path("copy.cu")) + "// of copy.toml\n");
  REQUIRE(cli.run(spec).exit_code == 0);
  cli.copy_spec("[1]");
  REQUIRE(cli.run(other).exit_code == 0);
  const CommandResult unknown = cli.xtune({"store", "rm", "cop"});
  CHECK(unknown.exit_code == 2);
  CHECK(has(unknown.stderr_text, "did you mean 'copy'?"));
  const json listed = parsed(cli.xtune({"store", "rm", "copy", "--format", "json"}));
  CHECK(listed["dry_run"] == true);
  CHECK(listed["removed"].size() == 4);  // records; image, metadata and source of the artifact
  CHECK(has(done(cli.xtune({"store", "rm", "copy"})), "; --force removes them"));
  CHECK(cli.stored_records() == 2);

  // The file of a run that still writes stays.
  std::string header, rest, file;
  for (const auto& entry : fs::recursive_directory_iterator(cli.path("cache") + "/records"))
    if (entry.is_regular_file() && has(entry.path().string(), "/copy/")) file = entry.path().string();
  const std::string records = read_file(file);
  json first = json::parse(records.substr(0, records.find('\n')));
  first["pid"] = getpid();
  std::ofstream(file, std::ios::binary) << first.dump() << records.substr(records.find('\n'));
  const CommandResult busy = cli.xtune({"store", "rm", "copy", "--force"});
  CHECK(has(busy.stderr_text, "its run may still write it"));
  CHECK(cli.stored_records() == 2);
  std::ofstream(file, std::ios::binary) << records;

  CHECK(has(done(cli.xtune({"store", "rm", "copy", "--force"})), ": removed 4 files"));
  CHECK(cli.stored_records() == 1);
  const std::string left = done(cli.xtune({"store", "ls"}));
  CHECK(has(left, "other"));
  CHECK(has(left, "1 artifact,"));
  CHECK(has(done(cli.xtune({"store", "verify"})), "nothing damaged"));
}

TEST_CASE("gc says how far it missed --max-size, and what that does not count") {
  const Cli cli;
  REQUIRE(cli.run(cli.copy_spec()).exit_code == 0);
  const CommandResult reached = cli.xtune({"store", "gc", "--max-size", "0", "--dry-run", "--format", "json"});
  CHECK(reached.exit_code == 0);
  CHECK(parsed(reached)["record_bytes"] > 0);
  CHECK(has(reached.stderr_text, "beyond --max-size, which counts only artifacts"));
  for (const auto& entry : fs::recursive_directory_iterator(cli.path("cache") + "/artifacts"))
    if (entry.path().extension() == ".json") fs::remove(entry.path());
  const CommandResult missed = cli.xtune({"store", "gc", "--max-size", "0"});
  CHECK(missed.exit_code == 1);
  CHECK(has(missed.stderr_text, "the artifacts that stay are"));
}

TEST_CASE("cover needs a store and a share; why answers in both places") {
  const Cli cli;
  const std::string spec = cli.copy_spec();
  const auto cover = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {"cover", spec, "--backend", "host"});
    return cli.xtune(more);
  };
  const CommandResult missing = cover({});
  CHECK(missing.exit_code == 2);
  CHECK(has(missing.stderr_text, "the store " + cli.path("cache") + " does not exist"));
  CHECK(missing.stdout_text.empty());
  REQUIRE(cli.run(spec).exit_code == 0);
  CHECK(cover({"--within", "0.05"}).stdout_text == cover({"--within", "5%"}).stdout_text);
  for (const char* text : {"5", "1", "1e1"}) {
    const CommandResult wrong = cover({"--within", text});
    CHECK(wrong.exit_code == 2);
    CHECK(has(wrong.stderr_text, std::string("write ") + text + "% for " + text + " per cent"));
  }
  for (const char* text : {"-1%", "10001%", "101", "inf"})
    CHECK(has(cover({"--within", text}).stderr_text,
              std::string("--within '") + text + "': a share is at least 0% and at most 10000%"));
  for (const char* text : {"nan", "five", "5 %", ""})
    CHECK(has(cover({"--within", text}).stderr_text, "': write a share, for example 5% or 0.05"));
  const std::string why = done(cli.xtune({"why", spec, "--backend", "host"}));
  CHECK(has(why, "3 stored"));
  CHECK(done(cli.xtune({"store", "why", spec, "--backend", "host"})) == why);
  CHECK(has(done(cli.xtune({"store", "why", "--help"})), "xtune store why configs/gemm.toml"));
}

TEST_CASE("cover --stored ignores problems that only kernels built with sanitizers ran") {
  if (!can_sanitize) return;
  const Cli cli;
  const std::string spec = cli.copy_spec("[1]");
  REQUIRE(cli.run(spec).exit_code == 0);
  const CommandResult sanitized = cli.run(spec, {"--sanitize", "-D", "N=128"});
  CAPTURE(sanitized.stderr_text);
  REQUIRE(sanitized.exit_code == 0);
  const json cover = parsed(
      cli.xtune({"cover", spec, "--backend", "host", "--stored", "--format", "json", "--store", cli.path("cache")}));
  CHECK(cover["cases"] == 1);
}

TEST_CASE("merge behind a link of the store is refused with an exit code") {
  const Cli cli;
  REQUIRE(cli.run(cli.copy_spec()).exit_code == 0);
  const fs::path records = cli.path("into") + "/records";
  fs::create_directories(cli.path("elsewhere"));
  fs::create_directories(cli.path("into"));
  fs::create_directory_symlink(cli.path("elsewhere"), records);
  const CommandResult merged = cli.xtune({"store", "merge", cli.path("cache"), "--store", cli.path("into")});
  CHECK(merged.exit_code == 1);
  CHECK(has(merged.stderr_text, records.string() + " is a link"));
  CHECK(fs::is_empty(cli.path("elsewhere")));
}

TEST_CASE("store says what is wrong with its arguments") {
  const Cli cli;
  const std::vector<std::vector<std::string>> bad = {{"store"},
                                                     {"store", "list"},
                                                     {"store", "ls"},  // there is no store yet
                                                     {"store", "merge", cli.path("nowhere")},
                                                     {"store", "merge"},
                                                     {"store", "export", "--format", "xml"},
                                                     {"store", "bundle"},
                                                     {"store", "gc", "--older-than", "30"},
                                                     {"store", "gc", "--older-than", "d"},
                                                     {"store", "gc", "--max-size", "10X"},
                                                     {"store", "gc", "--max-size", "99999999999999999999G"}};
  for (const auto& arguments : bad) {
    CAPTURE(arguments.back());
    const CommandResult result = cli.xtune(arguments);
    CHECK(result.exit_code == 2);
    CHECK_FALSE(result.stderr_text.empty());
  }
  fs::create_directories(cli.path("cache"));
  CHECK(cli.xtune({"store", "gc", "--records"}).exit_code == 2);
  CHECK(cli.xtune({"store", "export", "--format", "header"}).exit_code == 3);
  CHECK(cli.xtune({"store", "bundle", "-o", cli.path("b")}).exit_code == 3);
  for (const char* name : {"ls", "verify", "gc", "rm", "merge", "export", "bundle"}) {
    const CommandResult help = cli.xtune({"store", name, "--help"});
    CHECK(has(help.stdout_text, std::string("xtune store ") + name));
    CHECK(has(help.stdout_text, "Example"));
  }
}

TEST_CASE("a run gives its result even if the store cannot be written, or only artifacts fail") {
  const Cli cli;
  const std::string spec = cli.copy_spec();
  fs::create_directories(cli.path("half"));
  cli.write("half/artifacts", "no folder");
  cli.write("file", "no folder");
  for (const std::string& store :
       {cli.path("half"), cli.path("file"), std::string("/dev/null/store"), std::string("/proc/store")}) {
    CAPTURE(store);
    const CommandResult run = cli.run(spec, {"--store", store});
    CHECK(run.exit_code == 0);
    CHECK(parsed(run)["best"].is_object());
    CHECK(has(run.stderr_text, "kept only for this run"));
  }
  // What could be stored was.
  CHECK(parsed(cli.run(spec, {"--store", cli.path("half")}))["from_store"] == 3);
}
