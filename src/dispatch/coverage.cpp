// Lines of JSON, each one write(2) to a file that is open for appending. Newer lines about a problem replace older
// ones; calls are added up over processes.
#include "dispatch/coverage.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>

#include "base/text.hpp"
#include "core/space/bindings_form.hpp"
#include "core/spec/document.hpp"
#include "core/spec/suite.hpp"
#include "system/clock.hpp"
#include "system/files.hpp"
#include "system/processes.hpp"
#include "xtune/error.hpp"

namespace xtune::dispatch {

namespace {

using Json = nlohmann::json;

constexpr std::size_t max_problems = std::size_t{1} << 16;
constexpr std::int64_t flush_interval_ns = 1'000'000'000;

/// The logs of this process, flushed when it ends: a kernel that is never destroyed has calls, too. Never destroyed.
struct OpenLogs {
  std::mutex mutex;
  std::set<Coverage*> logs;
};
OpenLogs& open_logs() {
  static OpenLogs* const all = [] {
    auto* const created = new OpenLogs;
    std::atexit([] {
      const std::lock_guard lock(open_logs().mutex);
      for (Coverage* log : open_logs().logs) log->flush();
    });
    return created;
  }();
  return *all;
}

std::string dumped(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

/// A line of a log: a problem of a process with its answer, or with the number of its calls.
struct Line : CoveredProblem {
  std::string process, backend;
  double time_ms = 0;              ///< of the measurement
  std::int64_t unix_time_ms = -1;  ///< of the answer
};

namespace fields = base::fields;
using space::bindings_form;
constexpr auto has_measurement = [](const Line& line) { return !line.measured_for.empty(); };

std::optional<Choice::Kind> kind_named(const std::string& word) {
  for (const Choice::Kind kind : {Choice::Kind::exact, Choice::Kind::bucket, Choice::Kind::nearest, Choice::Kind::none})
    if (word == to_string(kind)) return kind;
  return std::nullopt;
}
std::string unknown_kind(const std::string& word) {
  return "unknown kind of answer '" + base::printable(word, 40) + "'";
}

constexpr auto problem_fields = fields::object<Line>(
    fields::Constant{"xtune_coverage", 1}, fields::required("process", &Line::process),
    fields::required("kernel", &Line::kernel), fields::required("arch", &Line::arch),
    fields::required("device", &Line::device), fields::required("problem", &Line::problem, bindings_form),
    fields::optional("calls", &Line::calls));
constexpr auto answer_fields = fields::object<Line>(
    fields::always("spec", &Line::spec, fields::path), fields::always("defines", &Line::defines, bindings_form),
    fields::always("backend", &Line::backend), fields::always("config", &Line::config, bindings_form),
    fields::always("kind", &Line::kind, fields::word(kind_named, unknown_kind)), fields::always("stale", &Line::stale),
    fields::always("unix_time_ms", &Line::unix_time_ms),
    fields::When(has_measurement, fields::always("measured_for", &Line::measured_for, bindings_form)),
    fields::When(has_measurement, fields::always("distance", &Line::distance)),
    fields::When(has_measurement, fields::always("time_ms", &Line::time_ms)),
    fields::optional("refusal", &Line::refusal));

std::string answer_text(const Line& line) {
  Json json = problem_fields.to_json(line);
  answer_fields.add_to(json, line);
  return dumped(json) + "\n";
}

}  // namespace

std::unique_ptr<Coverage> Coverage::open(const std::filesystem::path& given, CoveredKernel kernel,
                                         std::function<void(const std::string&)> say) {
  std::filesystem::path file = given;
  if (file.empty())
    if (const char* const value = std::getenv("XTUNE_COVERAGE")) file = value;
  if (file.empty()) return nullptr;
  std::error_code failed;
  if (std::filesystem::path whole = std::filesystem::absolute(file, failed); !failed) file = std::move(whole);
  if (std::filesystem::is_directory(file, failed))
    file /= fmt::format("coverage-{}-{}.jsonl", system::host_name(), ::getpid());
  return std::unique_ptr<Coverage>(new Coverage(std::move(file), std::move(kernel), std::move(say)));
}

Coverage::Coverage(std::filesystem::path file, CoveredKernel kernel, std::function<void(const std::string&)> say)
    : file_(std::move(file)), kernel_(std::move(kernel)), say_(std::move(say)), pid_(::getpid()) {
  static std::atomic<int> number{0};
  process_ = fmt::format("{}-{}-{}-{}", system::host_name(), pid_, system::system_clock().unix_time_ms(), ++number);
  fd_ = ::open(file_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (fd_ < 0) {
    told_ = true;
    say_(fmt::format("{}: its problems are not logged: cannot open {}: {}", kernel_.name, file_.string(),
                     std::strerror(errno)));
  }
  const std::lock_guard lock(open_logs().mutex);
  open_logs().logs.insert(this);
}

Coverage::~Coverage() {
  {
    const std::lock_guard lock(open_logs().mutex);
    open_logs().logs.erase(this);
  }
  flush();
  if (fd_ >= 0) ::close(fd_);
}

void Coverage::write(const std::string& lines) noexcept {
  if (fd_ < 0 || lines.empty()) return;
  ssize_t written = 0;
  do {
    written = ::write(fd_, lines.data(), lines.size());
  } while (written < 0 && errno == EINTR);
  if (written == static_cast<ssize_t>(lines.size()) || told_) return;
  told_ = true;
  try {
    say_(fmt::format("{}: the log of its problems is not whole: cannot write {}: {}", kernel_.name, file_.string(),
                     written < 0 ? std::strerror(errno) : "no space left"));
  } catch (...) {  // a log must not make a call fail
  }
}

Coverage::Counter* Coverage::add(const Bindings& problem, const device::DeviceInfo& device, const Choice& choice,
                                 const std::string& refusal) {
  const std::lock_guard lock(mutex_);
  const Key key{{device.arch, device.name}, problem};
  if (entries_.size() >= max_problems && !entries_.contains(key)) return nullptr;
  Entry& entry = entries_[key];
  Line line{{kernel_.name, device.arch, device.name, kernel_.spec, kernel_.defines, problem, choice.config,
             choice.measured_for, choice.kind, choice.distance, !choice.stale.empty(), refusal},
            process_,
            device.backend,
            choice.time_ms};
  if (std::string answer = answer_text(line); answer != entry.answer) {
    entry.answer = std::move(answer);
    line.unix_time_ms = system::system_clock().unix_time_ms();
    write(answer_text(line));
  }
  if (const std::int64_t now = system::system_clock().now_ns(); now - flushed_ns_ > flush_interval_ns) {
    flushed_ns_ = now;
    flush_locked();
  }
  return &entry.calls;
}

void Coverage::flush() noexcept try {
  const std::lock_guard lock(mutex_);
  flush_locked();
} catch (...) {  // no memory
}

void Coverage::flush_locked() {
  // A child of fork has its parent's counters, which the parent writes.
  if (::getpid() != pid_) return;
  for (auto& [key, entry] : entries_) {
    const std::uint64_t calls = entry.calls.load(std::memory_order_relaxed);
    if (calls == entry.written) continue;
    entry.written = calls;
    Line line;
    line.process = process_;
    line.kernel = kernel_.name;
    std::tie(line.arch, line.device) = key.first;
    line.problem = key.second;
    line.calls = calls;
    write(dumped(problem_fields.to_json(line)) + "\n");
  }
}

namespace {

namespace fs = std::filesystem;
/// A problem in the logs that were read.
struct Found {
  Line newest;                                 ///< its newest answer; without a time: only calls were read
  std::map<std::string, std::uint64_t> calls;  ///< by process
};
using AllFound = std::map<std::tuple<std::string, std::string, std::string, std::string>, Found>;

void read_line(const Json& json, AllFound& all) {
  if (const int written = json.at("xtune_coverage"); written != 1)
    throw Error(ErrorKind::unsupported, fmt::format("written by a newer xtune (version {} of the log)", written));
  Line line;
  problem_fields.read(json, line);
  answer_fields.read(json, line);
  Found& found = all[{line.kernel, line.arch, line.device, space::bindings_text(line.problem)}];
  std::uint64_t& calls = found.calls[line.process];
  calls = std::max(calls, std::exchange(line.calls, 0));
  if (line.unix_time_ms >= found.newest.unix_time_ms) found.newest = std::move(line);
}

void read_log(const fs::path& path, AllFound& all, std::vector<std::string>& warnings) {
  const std::string text = system::read_file(path), name = base::printable(path.string());
  std::size_t number = 0, understood = 0;
  const auto skip = [&](const std::string& why) {
    warnings.push_back(fmt::format("{}:{}: skipped: {}", name, number, why));
  };
  for (const std::string_view line : base::split_lines(text)) {
    ++number;
    if (line.data() + line.size() == text.data() + text.size()) {
      skip("the line is torn, or still being written");
      break;
    }
    try {
      read_line(Json::parse(line), all);
      ++understood;
    } catch (const Json::exception& error) {
      skip(base::json_error_text(error));
    } catch (const Error& error) {
      skip(error.what());
    }
  }
  if (understood == 0) warnings.push_back(name + ": it has no line of a coverage log");
}

std::string toml_table(const Bindings& bindings) {
  std::string text;
  for (const auto& [name, value] : bindings)
    text += fmt::format("{}{} = {}", text.empty() ? " " : ", ", spec::toml_string(name), spec::toml_text(value));
  return "{" + text + " }";
}

std::string suite_text(const fs::path& spec, const Bindings& defines, const std::string& cases) {
  std::string text = fmt::format("\n[[suite]]\nspec = {}\n", spec::toml_string(spec.string()));
  if (!defines.empty()) text += fmt::format("defines = {}\n", toml_table(defines));
  return text + fmt::format("cases = [\n{}]\n", cases);
}

/// Why the spec does not take the problem; empty: it does.
std::string why_impossible(const fs::path& spec, const CoveredProblem& problem) {
  try {
    const std::string text = suite_text(spec, problem.defines, "  " + toml_table(problem.problem) + "\n");
    const std::optional<spec::Suite> suite = spec::parse_suite(text, "the log", spec.parent_path());
    spec::SpecOptions options;
    options.suite = &suite.value().entries.front();
    spec::load_spec(spec, options);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::io) return error.what();  // else it may be there where the suite is used
  }
  return {};
}

std::string words_for(const CoveredProblem& problem) {
  std::string text = problem.refusal.empty() ? to_string(problem.kind) : "refused";
  if (problem.kind == Choice::Kind::nearest || problem.kind == Choice::Kind::bucket)
    text += fmt::format(", distance {:.3g}", problem.distance);
  return fmt::format("{}, {} calls on {}", text, problem.calls, base::one_line(problem.device));
}

}  // namespace

bool is_worse(const CoveredProblem& a, const CoveredProblem& b) {
  const auto rank = [](const CoveredProblem& one) {
    const double weight = static_cast<double>(std::max<std::uint64_t>(one.calls, 1)) *
                          (one.kind == Choice::Kind::none || one.distance == 0 ? 1 : one.distance);
    return std::tuple(one.refusal.empty(), -static_cast<int>(one.kind), -weight);
  };
  return rank(a) < rank(b);
}

std::vector<CoveredProblem> read_coverage(const std::vector<fs::path>& paths, std::vector<std::string>& warnings) {
  AllFound found;
  for (const fs::path& path : paths) {
    std::error_code error;
    if (!fs::exists(path, error))
      throw Error(ErrorKind::invalid_argument, base::printable(path.string()) + ": the log does not exist");
    if (!fs::is_directory(path, error)) {
      read_log(path, found, warnings);
      continue;
    }
    std::set<fs::path> files;
    for (const fs::directory_entry& entry : fs::directory_iterator(path, error))
      if (entry.path().extension() == ".jsonl") files.insert(entry.path());
    if (error) throw Error(ErrorKind::io, "cannot list " + base::printable(path.string()) + ": " + error.message());
    if (files.empty()) warnings.push_back(base::printable(path.string()) + ": it has no log, a file *.jsonl");
    for (const fs::path& file : files) read_log(file, found, warnings);
  }
  std::vector<CoveredProblem> problems;
  for (auto& [key, one] : found) {
    for (const auto& [process, calls] : one.calls) one.newest.calls += calls;
    if (one.newest.unix_time_ms >= 0) problems.push_back(std::move(one.newest));
  }
  std::stable_sort(problems.begin(), problems.end(), is_worse);
  return problems;
}

std::string coverage_suite(const std::vector<CoveredProblem>& problems, const std::map<std::string, fs::path>& specs,
                           std::vector<std::string>& warnings) {
  struct Entry {
    fs::path spec;
    Bindings defines;
    std::set<Bindings> known;
    std::string cases;
    bool possible = false;  ///< at least one case is not a comment
  };
  std::vector<Entry> entries;
  for (const CoveredProblem& problem : problems) {
    const auto given = specs.find(problem.kernel);
    const fs::path spec = given == specs.end() ? problem.spec : given->second;
    if (spec.empty()) {
      base::add_once(warnings, base::printable(problem.kernel, 80) +
                                   ": the log does not name its spec, which is in code or in a bundle; "
                                   "--spec FILE names it");
      continue;
    }
    auto entry = std::find_if(entries.begin(), entries.end(),
                              [&](const Entry& one) { return one.spec == spec && one.defines == problem.defines; });
    if (entry == entries.end()) entry = entries.insert(entries.end(), {spec, problem.defines, {}, {}, false});
    if (!entry->known.insert(problem.problem).second) continue;
    const std::string why = problem.refusal.empty() ? "" : why_impossible(entry->spec, problem);
    entry->possible = entry->possible || why.empty();
    if (why.empty())
      entry->cases += fmt::format("  {},  # {}\n", toml_table(problem.problem), words_for(problem));
    else
      entry->cases += fmt::format("  # {}: not possible: {}\n", toml_table(problem.problem), base::one_line(why));
  }
  std::string text;
  for (const Entry& entry : entries) {
    if (entry.possible) text += suite_text(entry.spec, entry.defines, entry.cases);
  }
  return text.empty() ? text : "# Problems of an application, worst first. Made by `xtune coverage`.\n" + text;
}

}  // namespace xtune::dispatch
