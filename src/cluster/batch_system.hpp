// Batch systems. Each is a TOML file: how its scripts ask for nodes and time, how to submit, and what answers mean.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cluster/launcher.hpp"
#include "core/spec/spec.hpp"

namespace xtune::cluster {

using Words = std::vector<std::string>;
/// Values for the placeholders of a template: "nodes" for "{nodes}".
using Values = std::map<std::string, std::string, std::less<>>;
/// Patterns by the option that stands for them: an option in any form in which users write it, up to its value.
using Spellings = std::vector<std::pair<std::string, spec::Text>>;

/// The keys are described in docs/cluster.md. Templates contain {placeholders}; patterns are of RE2.
struct BatchSystem {
  std::string id;    ///< the file's name without ".toml", as --scheduler has it
  std::string name;  ///< as messages have it
  Words found_by;    ///< programs that are all on PATH where this system is
  struct Submit {
    Words command, inside;  ///< inside: the same within a job, if it differs
    Words options;          ///< follow the dependency
    bool script_on_stdin = false;
    std::string job;  ///< a pattern of the job's id in a line of the answer
    Words dependency, cancel, requeue;
  } submit;
  /// Directives of scripts. Those without a value for a placeholder are omitted.
  struct Options {
    std::string prefix;
    Words log;
    Words job, single, measure, component;  ///< of each script, of one process, of the measuring job and its components
    Words time, account, queue;
    std::string time_unit = "hms";     ///< of {time}, and of plain numbers in a user's option: minutes, seconds or hms
    bool two_parts_are_hours = false;  ///< "1:30" is hours and minutes, not minutes and seconds
    Spellings escape;                  ///< characters of {log}
  } options;
  /// How users write options behind `--`.
  struct Given {
    Spellings time, account, cores;
    std::string gpus, array;
    std::string takes_value;  ///< options after which a value is a separate word
    std::int64_t values = 1;  ///< its maximum number of words
  } given;
  /// Of heterogeneous jobs: what separates their components in a script and in the arguments. Empty: none.
  struct Components {
    std::string directive, argument;
  } components;
  /// Either a command that starts all processes of a component, or the job's hosts, one for each process, and a command
  /// that starts one of them. Shell text.
  struct Start {
    std::string command, hosts, on_host;
    Words warnings;  ///< signals that announce the end of the job to its script
  } start;
  struct Job {
    std::string id, also, restart;  ///< variables; inside of a job, id and also are set
  } job;
  /// Variables of processes that the start command starts, for a system that numbers them.
  struct Rank {
    std::string rank, size, also;
    std::string local_sizes;  ///< "4(x2),3"
    std::string nodes;        ///< their number, where local_sizes is not set
    std::string study;        ///< a template with names of variables
  } rank;
  struct TimeLeft {
    std::string variable;                     ///< the end, in Unix seconds
    Words command;                            ///< prints `left`, or `limit` and `start`
    std::string left, limit, start, started;  ///< patterns; started: the format of start, as of strptime(3)
  } time_left;
  struct Status {
    std::vector<Words> commands;  ///< the next one is asked for jobs that those before do not know
    std::string line, queued, running;
  } status;

  bool has(std::string_view placeholder) const;  ///< whether a component's options use it
};

/// The files that come with xtune, embedded when it is built.
extern const std::vector<std::pair<std::string_view, std::string_view>> built_in_systems;

/// Throws Error(invalid_spec) at the place of the mistake.
BatchSystem read_batch_system(const std::string& text, const std::string& file);
/// Those that come with xtune, the one to prefer first. A file in XTUNE_SCHEDULER comes before them.
const std::vector<BatchSystem>& batch_systems();
/// The one with that id, or in that .toml file; empty: XTUNE_SCHEDULER, else that of the job in which this process
/// runs, else the first whose programs are on PATH, else the first. Throws Error(invalid_argument) for an unknown one.
const BatchSystem& choose_batch_system(const std::string& scheduler);

/// The batch job in which a process runs; restart counts how often it was started again.
struct CurrentJob {
  const BatchSystem* system = nullptr;
  std::string id, restart;
};
std::optional<CurrentJob> current_job(const ReadVariable& get = environment_variable);

/// The template with its values; text between "{?" and "?}" is omitted if one in it has no value. nullopt: one outside
/// has none.
std::optional<std::string> fill(std::string_view text, const Values& values);
/// The same for a template with {VARIABLES}.
std::optional<std::string> fill_variables(std::string_view text, const ReadVariable& get);
/// The words of templates; those without a value are omitted with the whole template. "{jobs...}" stands for several.
Words fill_words(const Words& templates, const Values& values);

/// The last value that a user's options have in one of these spellings, in its usual spelling and by itself.
struct GivenOption {
  Words words;  ///< at most one option
  std::string value;
};
GivenOption given_option(const Spellings& spellings, const Words& options);
/// The id of a job in the answer to its submission; empty: it has none.
std::string job_in_answer(const BatchSystem& system, const std::string& answer);

/// Seconds in "90", "45:00" (minutes), "2:00:00", "1-12:00:00" (days) and "90m"; nullopt for anything else, including
/// "UNLIMITED". options: whose unit a plain number has; null: seconds.
std::optional<double> parse_duration(std::string_view text, const BatchSystem::Options* options = nullptr);
std::string write_duration(double seconds, const BatchSystem::Options& options);

/// Runs a command and returns its output; empty if it cannot be run.
using AskProgram = std::function<std::string(const Words& argv)>;
std::string ask_program(const Words& argv);  ///< runs for up to 10 s
struct JobState {
  std::string text;             ///< "RUNNING"
  const char* phase = "ended";  ///< queued | running | ended
};
/// The states of jobs that the system still knows.
std::map<std::string, JobState> job_states(const BatchSystem& system, const Words& jobs,
                                           const AskProgram& ask = ask_program);

}  // namespace xtune::cluster
