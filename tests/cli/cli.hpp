// Runs the built xtune program, with a temporary cache, a tiny kernel, and access to its output.
#pragma once

#include <doctest/doctest.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "support/text.hpp"
#include "system/event_loop.hpp"
#include "system/files.hpp"
#include "system/subprocess.hpp"

namespace xtune::cli_test {

namespace fs = std::filesystem;
using nlohmann::json;
using test::has;

/// Whether the program can use --sanitize: AddressSanitizer's runtime cannot be loaded into a program that
/// ThreadSanitizer watches; it fails now and then.
#ifdef __SANITIZE_THREAD__
constexpr bool can_sanitize = false;
#else
constexpr bool can_sanitize = true;
#endif

struct Cli {
  system::TemporaryDirectory folder;
  system::Environment env;

  Cli() {
    fs::create_directories(path("tmp"));
    env = {{"XTUNE_CACHE_DIR", path("cache")},
           {"XTUNE_TMP_DIR", path("tmp")},
           {"XTUNE_JOBS", "2"},
           {"XTUNE_DISABLE_CACHE", ""}};
  }
  void set(const std::string& name, const std::string& value) {
    for (auto& [known, text] : env)
      if (known == name) text = value;
  }
  std::string path(const std::string& name) const { return (folder.path() / name).string(); }
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(path(name), std::ios::binary) << text;
    return path(name);
  }

  system::CommandResult command(std::vector<std::string> argv) const {
    system::CommandOptions options;
    options.env = env;
    options.timeout_ms = 120'000;
    return system::run_command(argv, options);
  }
  system::CommandResult xtune(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), XTUNE_PROGRAM);
    return command(std::move(arguments));
  }
  /// `xtune run SPEC --backend host --format json ...`.
  system::CommandResult run(const std::string& spec, const std::vector<std::string>& more = {}) const {
    return xtune(run_arguments(spec, more));
  }
  static std::vector<std::string> run_arguments(const std::string& spec, const std::vector<std::string>& more) {
    std::vector<std::string> arguments{"run", spec, "--backend", "host", "--format", "json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  }

  /// A kernel that copies; VARIANT is launch-only, so that any number of configurations costs one compilation. Every
  /// configuration is measured in full, and once: the outcome of a race or finals would depend on the machine.
  std::string copy_spec(const std::string& variants = "[1, 2, 3]", const std::string& more = "") const {
    write("copy.cu",
          "extern \"C\" __global__ void copy(const float* x, float* y, int n) {\n"
          "  const int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
          "  if (i < n) y[i] = x[i];\n"
          "}\n");
    return write("copy.toml",
                 "[kernel]\nname = \"copy\"\nsource = \"copy.cu\"\nentry = \"copy\"\n"
                 "[problem]\nN = 4096\n"
                 "[space.params]\nVARIANT = { values = " +
                     variants +
                     ", compile_time = false }\n"
                     "[launch]\ngrid = [\"ceildiv(N, 32 * VARIANT)\"]\nblock = [\"32 * VARIANT\"]\n"
                     "[[args]]\nname = \"x\"\ndtype = \"f32\"\nshape = [1, \"N\"]\n"
                     "[[args]]\nname = \"y\"\ndtype = \"f32\"\nshape = [\"N\", 1]\nrole = \"out\"\n"
                     "[[args]]\nname = \"n\"\nkind = \"scalar\"\ndtype = \"i32\"\nvalue = \"N\"\n"
                     "[validate]\nreference = { builtin = \"transpose\", x = \"x\" }\n" +
                     (more.find("[measure]") == std::string::npos
                          ? "[measure]\nrep = 7\nmin_rep = 5\nwarmup = 1\nmax_time_ms = 20\nrace = false\nfinals = 0\n"
                          : "") +
                     more);
  }
  /// Configurations that take their time: each at least 60 ms of kernel time, with calls of microseconds.
  std::string slow_copy_spec(const std::string& variants) const {
    return copy_spec(variants,
                     "[measure]\nrep = 1000000\nmin_rep = 7\nmin_time_ms = 60\nmax_time_ms = 60\nnoise = 0\nflush = "
                     "\"none\"\nrace = false\nfinals = 0\n[metrics]\nGB_per_s = \"8 * N / time_s / 1e9\"\n");
  }

  /// The store's record files, each as text.
  std::vector<std::string> stored_texts() const {
    std::vector<std::string> texts;
    std::error_code ignored;
    for (fs::recursive_directory_iterator file(path("cache") + "/records", ignored), end; file != end;
         file.increment(ignored)) {
      if (file->path().extension() != ".jsonl") continue;
      std::ifstream in(file->path());
      texts.emplace_back(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
    }
    return texts;
  }
  /// Number of complete lines of all record files of the store, without headers.
  std::size_t stored_records() const {
    std::size_t count = 0;
    for (const std::string& text : stored_texts()) {
      const auto lines = std::count(text.begin(), text.end(), '\n');
      count += lines > 0 ? static_cast<std::size_t>(lines) - 1 : 0;
    }
    return count;
  }
  /// The records of the store, in no order.
  std::vector<json> records() const {
    std::vector<json> list;
    for (const std::string& text : stored_texts()) {
      std::istringstream lines(text);
      for (std::string line; std::getline(lines, line);)
        if (json record = json::parse(line); record.contains("outcome")) list.push_back(std::move(record));
    }
    return list;
  }
};

/// Standard output must be only JSON: anything else fails the parse.
inline json parsed(const system::CommandResult& result) {
  INFO("stdout: " << result.stdout_text << "\nstderr: " << result.stderr_text);
  json value = json::parse(result.stdout_text, nullptr, false);
  REQUIRE_FALSE(value.is_discarded());
  return value;
}

/// Children of a process, by /proc.
inline std::vector<int> children_of(int parent) {
  std::vector<int> children;
  for (const auto& entry : fs::directory_iterator("/proc")) {
    const std::string name = entry.path().filename().string();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    std::ifstream in(entry.path() / "stat");
    std::string line;
    if (!std::getline(in, line)) continue;
    int ppid = 0;
    char state = 0;
    if (std::sscanf(line.c_str() + line.rfind(')') + 1, " %c %d", &state, &ppid) == 2 && ppid == parent)
      children.push_back(std::stoi(name));
  }
  return children;
}

/// A program that runs while the test looks on.
struct Running {
  system::EventLoop loop;
  std::string out, err;
  int exit_code = -1, signal = 0;
  bool ended = false;
  system::Subprocess process;

  Running(const Cli& cli, std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), XTUNE_PROGRAM);
    system::SubprocessOptions options;
    options.argv = std::move(arguments);
    options.env = cli.env;
    options.on_stdout = [this](std::string_view bytes) { out += bytes; };
    options.on_stderr = [this](std::string_view bytes) { err += bytes; };
    options.on_exit = [this](int code, int by) { exit_code = code, signal = by, ended = true; };
    process = system::Subprocess(loop, std::move(options));
  }
  /// Looks every 2 ms until `done` holds; false when the program ended or a minute passed before.
  bool wait_until(const std::function<bool()>& done) {
    const auto deadline_ms = loop.now_ms() + 60'000;
    while (!done()) {
      if (ended || loop.now_ms() > deadline_ms) return false;
      const auto poll = loop.call_after(2, [] {});
      loop.run_once();
    }
    return true;
  }
  bool wait_for_end() {
    const auto deadline_ms = loop.now_ms() + 60'000;
    while (!ended && loop.now_ms() < deadline_ms) {
      const auto poll = loop.call_after(100, [] {});
      loop.run_once();
    }
    return ended;
  }
};

}  // namespace xtune::cli_test
