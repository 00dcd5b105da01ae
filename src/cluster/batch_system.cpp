// Reads files of batch systems, fills their templates, and finds things in answers by their patterns.
#include "cluster/batch_system.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>
#include <re2/re2.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/text.hpp"
#include "core/spec/section.hpp"
#include "system/files.hpp"
#include "system/shell_words.hpp"
#include "system/subprocess.hpp"
#include "xtune/error.hpp"

namespace xtune::cluster {

namespace fs = std::filesystem;

namespace {

// Reading a file.

const Words placeholders{"name",  "log",        "folder",     "nodes",      "ranks_per_node", "ranks",
                         "slots", "cores",      "cores_or_1", "node_cores", "gpus_per_node",  "gpus_per_rank",
                         "gres",  "constraint", "queue",      "time",       "account",        "job",
                         "jobs",  "component",  "host"};
const RE2& placeholder() {
  static const RE2 pattern(R"(\{([a-z][a-z0-9_]*)(\.\.\.)?\})");
  return pattern;
}

void check_template(const spec::Reader& reader, const spec::TomlNode& node, const std::string& what) {
  const std::string text = reader.text(node, what);
  std::string name, several;
  for (re2::StringPiece rest(text); RE2::FindAndConsume(&rest, placeholder(), &name, &several);) {
    const bool doubled = rest.starts_with("}");  // "{{id}}" is for the system itself
    if (!doubled && std::find(placeholders.begin(), placeholders.end(), name) == placeholders.end())
      reader.fail(node.at, fmt::format("{}: unknown placeholder '{{{}}}'{}", what, name,
                                       base::did_you_mean(name, placeholders)));
  }
}

/// A template, or a list of them.
struct Template {
  static void read(const spec::Reader& reader, const spec::TomlNode& node, const std::string& what, std::string& text) {
    check_template(reader, node, what);
    text = reader.text(node, what);
  }
  static void read(const spec::Reader& reader, const spec::TomlNode& node, const std::string& what, Words& texts) {
    for (const spec::TomlNode& item : reader.array(node, what).items) {
      check_template(reader, item, what);
      texts.push_back(reader.text(item, what));
    }
  }
  static void read(const spec::Reader& reader, const spec::TomlNode& node, const std::string& what,
                   std::vector<Words>& lists) {
    for (const spec::TomlNode& item : reader.array(node, what).items) read(reader, item, what, lists.emplace_back());
  }
};

/// A pattern with this many groups, or a table of such patterns.
struct Pattern {
  int groups = 0, other_groups = 0;
  void read(const spec::Reader& reader, const spec::TomlNode& node, const std::string& what, std::string& text) const {
    text = reader.text(node, what);
    const RE2 pattern(text, RE2::Quiet);
    const int found = pattern.NumberOfCapturingGroups();
    if (!pattern.ok()) reader.fail(node.at, fmt::format("{}: {}", what, pattern.error()));
    if (found != groups && (other_groups == 0 || found != other_groups))
      reader.fail(node.at, fmt::format("{}: expected {} groups in parentheses, got {}", what, groups, found));
  }
  void read(const spec::Reader& reader, const spec::TomlNode& node, const std::string& what, Spellings& table) const {
    table = reader.named_texts(node, what);
    std::string text;
    for (const auto& [name, entry] : node.entries) read(reader, entry, what + "." + name, text);
  }
};

using spec::key;
constexpr auto submit_keys = spec::section<BatchSystem::Submit>(
    "[submit]", spec::required("command", &BatchSystem::Submit::command, "[submit] has no 'command'"),
    key("inside", &BatchSystem::Submit::inside), key("options", &BatchSystem::Submit::options),
    key("script_on_stdin", &BatchSystem::Submit::script_on_stdin),
    spec::required("job", &BatchSystem::Submit::job, "[submit] has no 'job', a pattern of the job's id", Pattern{1}),
    spec::required("dependency", &BatchSystem::Submit::dependency, "[submit] has no 'dependency'", Template()),
    key("cancel", &BatchSystem::Submit::cancel), key("requeue", &BatchSystem::Submit::requeue, Template()));
constexpr auto unit_words = std::array{"minutes", "seconds", "hms"};
constexpr auto options_keys = spec::section<BatchSystem::Options>(
    "[options]", spec::required("prefix", &BatchSystem::Options::prefix, "[options] has no 'prefix' of directives"),
    key("log", &BatchSystem::Options::log, Template()), key("job", &BatchSystem::Options::job, Template()),
    key("single", &BatchSystem::Options::single, Template()),
    key("measure", &BatchSystem::Options::measure, Template()),
    key("component", &BatchSystem::Options::component, Template()),
    key("time", &BatchSystem::Options::time, Template()), key("account", &BatchSystem::Options::account, Template()),
    key("queue", &BatchSystem::Options::queue, Template()),
    key("time_unit", &BatchSystem::Options::time_unit,
        spec::forms::Choice{[] { return Words(unit_words.begin(), unit_words.end()); }}),
    key("two_parts_are_hours", &BatchSystem::Options::two_parts_are_hours),
    key("escape", &BatchSystem::Options::escape));
constexpr auto given_keys = spec::section<BatchSystem::Given>(
    "[given]", key("time", &BatchSystem::Given::time, Pattern()),
    key("account", &BatchSystem::Given::account, Pattern()), key("cores", &BatchSystem::Given::cores, Pattern()),
    key("gpus", &BatchSystem::Given::gpus, Pattern()), key("array", &BatchSystem::Given::array, Pattern()),
    key("takes_value", &BatchSystem::Given::takes_value, Pattern()),
    key("values", &BatchSystem::Given::values, spec::forms::Integer{0, 9}));
constexpr auto components_keys =
    spec::section<BatchSystem::Components>("[components]", key("directive", &BatchSystem::Components::directive),
                                           key("argument", &BatchSystem::Components::argument));
constexpr auto start_keys = spec::section<BatchSystem::Start>(
    "[start]", key("command", &BatchSystem::Start::command, Template()),
    key("hosts", &BatchSystem::Start::hosts, Template()), key("on_host", &BatchSystem::Start::on_host, Template()),
    key("warnings", &BatchSystem::Start::warnings));
constexpr auto job_keys = spec::section<BatchSystem::Job>(
    "[job]", spec::required("id", &BatchSystem::Job::id, "[job] has no 'id', the variable with a job's id"),
    key("also", &BatchSystem::Job::also), key("restart", &BatchSystem::Job::restart));
constexpr auto rank_keys = spec::section<BatchSystem::Rank>(
    "[rank]", spec::required("rank", &BatchSystem::Rank::rank, "[rank] has no 'rank'"),
    spec::required("size", &BatchSystem::Rank::size, "[rank] has no 'size'"), key("also", &BatchSystem::Rank::also),
    key("local_sizes", &BatchSystem::Rank::local_sizes), key("nodes", &BatchSystem::Rank::nodes),
    key("study", &BatchSystem::Rank::study));
constexpr auto time_left_keys = spec::section<BatchSystem::TimeLeft>(
    "[time_left]", key("variable", &BatchSystem::TimeLeft::variable),
    key("command", &BatchSystem::TimeLeft::command, Template()), key("left", &BatchSystem::TimeLeft::left, Pattern{1}),
    key("limit", &BatchSystem::TimeLeft::limit, Pattern{1}), key("start", &BatchSystem::TimeLeft::start, Pattern{1}),
    key("started", &BatchSystem::TimeLeft::started));
constexpr auto status_keys = spec::section<BatchSystem::Status>(
    "[status]", key("commands", &BatchSystem::Status::commands, Template()),
    key("line", &BatchSystem::Status::line, Pattern{2, 4}), key("queued", &BatchSystem::Status::queued, Pattern()),
    key("running", &BatchSystem::Status::running, Pattern()));

/// A table of the file, in a member of the system.
template <class Keys, class Part>
auto table(const char* name, Part BatchSystem::*part, const Keys& keys, const char* missing = nullptr) {
  return spec::read_by(
      name,
      [part, &keys](const spec::Reader& reader, const spec::TomlNode& node, BatchSystem& system) {
        keys.read_toml(reader, node, std::string(keys.title).substr(1, std::string(keys.title).size() - 2) + ".",
                       system.*part);
      },
      missing);
}

}  // namespace

BatchSystem read_batch_system(const std::string& text, const std::string& file) {
  const auto keys = spec::section<BatchSystem>(
      "the batch system", spec::required("name", &BatchSystem::name, "a batch system needs a 'name'"),
      key("found_by", &BatchSystem::found_by),
      table("submit", &BatchSystem::submit, submit_keys, "a batch system needs [submit]"),
      table("options", &BatchSystem::options, options_keys, "a batch system needs [options]"),
      table("given", &BatchSystem::given, given_keys), table("components", &BatchSystem::components, components_keys),
      table("start", &BatchSystem::start, start_keys, "a batch system needs [start]"),
      table("job", &BatchSystem::job, job_keys, "a batch system needs [job]"),
      table("rank", &BatchSystem::rank, rank_keys), table("time_left", &BatchSystem::time_left, time_left_keys),
      table("status", &BatchSystem::status, status_keys));
  BatchSystem system;
  system.id = fs::path(file).stem().string();
  spec::Document document(text, file);
  spec::Spec unused;
  const spec::Reader reader{document, unused, {}};
  keys.read_toml(reader, document.root(), "", system);
  document.throw_complaints();
  const spec::TomlNode& start = *document.root().find("start");
  if (system.start.command.empty() == (system.start.hosts.empty() || system.start.on_host.empty()))
    document.fail(start.at, "[start] needs either 'command', or 'hosts' and 'on_host'");
  if (system.submit.command.empty()) document.fail(document.root().find("submit")->at, "submit.command is empty");
  if (system.options.prefix.empty()) document.fail(document.root().find("options")->at, "options.prefix is empty");
  if (system.found_by.empty()) system.found_by = {system.submit.command.front()};
  return system;
}

namespace {

bool is_file(const std::string& scheduler) { return scheduler.ends_with(".toml"); }

BatchSystem read_file_of(const std::string& scheduler) {
  BatchSystem read = read_batch_system(system::read_file(scheduler, 1 << 20), scheduler);
  read.id = scheduler;
  return read;
}

}  // namespace

const std::vector<BatchSystem>& batch_systems() {
  static const std::vector<BatchSystem> systems = [] {
    std::vector<BatchSystem> list;
    for (const auto& [file, text] : built_in_systems)
      list.push_back(read_batch_system(std::string(text), std::string(file)));
    if (const auto named = environment_variable("XTUNE_SCHEDULER"); named && is_file(*named))
      list.push_back(read_file_of(*named));
    return list;
  }();
  return systems;
}

const BatchSystem& choose_batch_system(const std::string& scheduler) {
  const std::vector<BatchSystem>& systems = batch_systems();
  const std::string named = scheduler.empty() ? environment_variable("XTUNE_SCHEDULER").value_or("") : scheduler;
  if (!named.empty()) {
    Words names;
    for (const BatchSystem& each : systems) {
      if (each.id == named) return each;
      names.push_back(each.id);
    }
    static std::map<std::string, BatchSystem> files;
    if (is_file(named)) {
      const auto known = files.find(named);
      return known != files.end() ? known->second : files.emplace(named, read_file_of(named)).first->second;
    }
    throw Error(ErrorKind::invalid_argument,
                fmt::format("--scheduler '{}': unknown batch system{}; there are {}, or name a file.toml",
                            base::printable(named, 80), base::did_you_mean(named, names), fmt::join(names, ", ")));
  }
  if (const auto job = current_job()) return *job->system;
  for (const BatchSystem& each : systems)
    if (std::none_of(each.found_by.begin(), each.found_by.end(),
                     [](const std::string& program) { return system::find_program(program).empty(); }))
      return each;
  return systems.front();
}

std::optional<CurrentJob> current_job(const ReadVariable& get) {
  // A site's own file, whose variables are mostly those of the file that it is a copy of; else the innermost one: an
  // instance of Flux may run within a job of any other.
  const std::vector<BatchSystem>& systems = batch_systems();
  for (auto each = systems.rbegin(); each != systems.rend(); ++each) {
    const auto id = get(each->job.id.c_str());
    if (!id || id->starts_with('-') || (!each->job.also.empty() && !get(each->job.also.c_str()))) continue;
    const std::string& restart = each->job.restart;
    return CurrentJob{&*each, *id, restart.empty() ? "" : get(restart.c_str()).value_or("")};
  }
  return std::nullopt;
}

bool BatchSystem::has(std::string_view value) const {
  const std::string written = fmt::format("{{{}}}", value);
  return std::any_of(options.component.begin(), options.component.end(),
                     [&](const std::string& text) { return text.find(written) != std::string::npos; });
}

// Templates.

namespace {

using ReadValue = std::function<std::optional<std::string>(const std::string& name)>;

std::optional<std::string> fill_by(std::string_view text, const RE2& pattern, const ReadValue& value_of) {
  std::string filled;
  while (!text.empty()) {
    const std::size_t optional = text.find("{?"), doubled = text.find("{{");
    std::size_t end = std::min({optional, doubled, text.size()});
    std::string_view part = text.substr(0, end);
    std::string name;
    for (re2::StringPiece rest(part); !part.empty();) {
      const char* const begin = rest.data();
      if (!RE2::FindAndConsume(&rest, pattern, &name)) {
        filled.append(begin, part.data() + part.size());
        break;
      }
      const std::string_view consumed(begin, static_cast<std::size_t>(rest.data() - begin));
      const std::optional<std::string> value = value_of(name);
      if (!value) return std::nullopt;
      filled += consumed.substr(0, consumed.rfind('{'));
      filled += *value;
    }
    if (end == text.size()) break;
    const std::string_view close = end == optional ? "?}" : "}}";
    const std::size_t closed = std::min(text.find(close, end), text.size() - 2);
    if (end == doubled)
      filled += text.substr(end, closed + 2 - end);
    else
      filled += fill_by(text.substr(end + 2, closed - end - 2), pattern, value_of).value_or("");
    text.remove_prefix(closed + 2);
  }
  return filled;
}

}  // namespace

std::optional<std::string> fill(std::string_view text, const Values& values) {
  return fill_by(text, placeholder(), [&values](const std::string& name) {
    const auto value = values.find(name);
    return value == values.end() ? std::nullopt : std::optional(value->second);
  });
}

std::optional<std::string> fill_variables(std::string_view text, const ReadVariable& get) {
  static const RE2 variable(R"(\{([A-Za-z_][A-Za-z0-9_]*)\})");
  return fill_by(text, variable, [&get](const std::string& name) { return get(name.c_str()); });
}

Words fill_words(const Words& templates, const Values& values) {
  Words words;
  for (const std::string& each : templates) {
    if (each == "{jobs...}") {
      const std::string jobs = values.at("jobs");
      for (std::size_t at = 0; at <= jobs.size();) {
        const std::size_t comma = std::min(jobs.find(',', at), jobs.size());
        words.push_back(jobs.substr(at, comma - at));
        at = comma + 1;
      }
      continue;
    }
    Words filled;
    bool complete = true;
    for (const std::string& word : system::shell_words(each)) {
      const auto text = fill(word, values);
      complete = complete && text;
      filled.push_back(text.value_or(""));
    }
    if (complete) words.insert(words.end(), filled.begin(), filled.end());
  }
  return words;
}

// Users' options and answers.

GivenOption given_option(const Spellings& spellings, const Words& options) {
  GivenOption found;
  for (std::size_t i = 0; i < options.size(); ++i)
    for (const auto& [usual, spelled] : spellings) {
      const RE2 pattern("(?s)(?:" + spelled.text + ")(.+)", RE2::Quiet);
      std::string value;
      if (!RE2::FullMatch(options[i], pattern, &value) &&
          (i + 1 == options.size() || !RE2::FullMatch(options[i] + " " + options[i + 1], pattern, &value)))
        continue;
      found.value = value.substr(0, value.find(','));
      const std::size_t space = usual.find(' ');
      found.words = {usual.substr(0, space)};
      if (space != std::string::npos) found.words.push_back(usual.substr(space + 1));
      found.words.back() += found.value;
      break;
    }
  return found;
}

std::string job_in_answer(const BatchSystem& system, const std::string& answer) {
  // Messages of a site's plugin come before it.
  const RE2 pattern(system.submit.job, RE2::Quiet);
  std::string job;
  const std::vector<std::string_view> lines = base::split_lines(answer);
  for (auto line = lines.rbegin(); line != lines.rend(); ++line) {
    const std::string_view text = line->substr(0, line->find_last_not_of(" \r") + 1);
    if (text.empty()) continue;
    RE2::FullMatch(re2::StringPiece(text.data(), text.size()), pattern, &job);
    break;
  }
  return job;
}

std::string ask_program(const Words& argv) {
  system::CommandOptions options;
  options.timeout_ms = 10'000;
  try {
    return system::run_command(argv, options).stdout_text;
  } catch (const Error&) {  // not installed
    return {};
  }
}

std::map<std::string, JobState> job_states(const BatchSystem& system, const Words& jobs, const AskProgram& ask) {
  std::map<std::string, JobState> states;
  const RE2 line(system.status.line, RE2::Quiet), queued(system.status.queued), running(system.status.running);
  const auto read = [&](const std::string& answer) {
    std::array<std::string, 4> group;
    for (re2::StringPiece rest(answer);;) {
      const bool found = line.NumberOfCapturingGroups() == 2
                             ? RE2::FindAndConsume(&rest, line, &group[0], &group[1])
                             : RE2::FindAndConsume(&rest, line, &group[0], &group[1], &group[2], &group[3]);
      if (!found) return;
      const std::size_t at = group[0].empty() ? 2 : 0;
      if (std::find(jobs.begin(), jobs.end(), group[at]) == jobs.end()) continue;
      const std::string& state = group[at + 1];
      states.try_emplace(group[at], JobState{state, RE2::FullMatch(state, queued)    ? "queued"
                                                    : RE2::FullMatch(state, running) ? "running"
                                                                                     : "ended"});
    }
  };
  for (const Words& command : system.status.commands) {
    Words unknown;
    for (const std::string& job : jobs)
      if (!states.contains(job)) unknown.push_back(job);
    if (unknown.empty()) break;
    Values values{{"jobs", fmt::format("{}", fmt::join(unknown, ","))}};
    const bool one_by_one = std::find(command.begin(), command.end(), "{job}") != command.end();
    for (const std::string& job : one_by_one ? unknown : Words{""}) {
      values["job"] = job;
      read(ask(fill_words(command, values)));
    }
  }
  return states;
}

// Durations.

namespace {

std::optional<double> whole_number(std::string_view text) {
  constexpr std::size_t longest = 15;  // a double counts that far
  if (text.empty() || text.size() > longest || text.find_first_not_of("0123456789") != text.npos) return std::nullopt;
  return std::stod(std::string(text));
}

}  // namespace

std::optional<double> parse_duration(std::string_view text, const BatchSystem::Options* options) {
  constexpr double minute_s = 60, hour_s = 3600, day_s = 86400;
  double days_s = 0;
  bool has_days = false;
  const std::string_view unit_letters = "smhd";
  if (const std::size_t unit = text.empty() ? text.npos : unit_letters.find(text.back()); unit != text.npos) {
    const auto value = whole_number(text.substr(0, text.size() - 1));
    const double units[] = {1, minute_s, hour_s, day_s};
    return value ? std::optional(*value * units[unit]) : std::nullopt;
  }
  if (const std::size_t dash = text.find('-'); dash != std::string_view::npos) {
    const auto days = whole_number(text.substr(0, dash));
    if (!days) return std::nullopt;
    has_days = true;
    days_s = day_s * *days;
    text.remove_prefix(dash + 1);
  }
  std::vector<double> parts;
  for (bool more = true; more;) {
    const std::size_t colon = std::min(text.find(':'), text.size());
    const auto value = whole_number(text.substr(0, colon));
    if (!value) return std::nullopt;
    parts.push_back(*value);
    more = colon < text.size();
    text.remove_prefix(std::min(colon + 1, text.size()));
  }
  if (parts.size() > 3) return std::nullopt;
  if (options && parts.size() == 1 && !has_days && options->time_unit == "minutes")
    parts.push_back(0);
  else if (options && parts.size() == 2 && options->two_parts_are_hours)
    parts.push_back(0);
  // After days come hours; otherwise the last part is seconds.
  if (has_days) parts.resize(3);
  double rest = 0;
  for (const double part : parts) rest = 60 * rest + part;
  return days_s + rest;
}

std::string write_duration(double seconds, const BatchSystem::Options& options) {
  const auto whole = static_cast<std::int64_t>(std::ceil(seconds));
  if (options.time_unit == "seconds") return std::to_string(whole);
  if (options.time_unit == "minutes") return std::to_string((whole + 59) / 60);
  return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
}

}  // namespace xtune::cluster
