// xtune run for a spec with [process]: the prefix of its command, and its commands without a run.

#include "base/text.hpp"
#include "cli/run_command.hpp"
#include "core/device/program_call.hpp"
#include "core/spec/process_spec.hpp"
#include "report/text/run_report.hpp"
#include "system/shell_words.hpp"
#include "worker/ipc/target.hpp"
#include "xtune/outcome.hpp"

namespace xtune::cli {
namespace {

constexpr std::uint64_t default_printed = 400;
const device::ProgramPlaces shown_places{"{out}", "{tmp}"};

using Variables = std::vector<std::pair<std::string, std::string>>;

Variables shown(const Variables& variables, const device::ProgramPlaces& places = shown_places) {
  Variables plain;
  for (const auto& [name, text] : variables) plain.emplace_back(name, device::from_call_text(text, places));
  return plain;
}

/// As it can be typed: variables first.
std::string line_of(const Variables& variables, const std::vector<std::string>& call_texts,
                    const device::ProgramPlaces& places) {
  std::string line;
  for (const auto& [name, value] : shown(variables, places)) line += name + "=" + system::command_line({value}) + " ";
  return base::printable(line + system::command_line(device::from_call_texts(call_texts, places)));
}

/// The commands for building and running one configuration.
struct Commands {
  Bindings config;
  build::CompileRequest build;
  device::ProgramCall call;
  std::string artifact_key, rejected;
};

Commands commands_of(const resolve::CandidateResolver& resolver, const space::Space& space,
                     const space::Config& config) {
  Commands commands;
  commands.config = space.named(config);
  try {
    commands.call = *resolver.launch(config).call;
    commands.build = resolver.compile_request(config);
    commands.artifact_key = resolver.artifact_key(commands.build);
  } catch (const build::CandidateFailure& failure) {
    commands.rejected = failure.what();
  }
  return commands;
}

/// What a server is asked first, for one configuration.
std::vector<Json> first_requests(const device::ProgramCall& call) {
  std::vector<Json> requests{device::start_request(), device::measure_request(call, 1, call.checks)};
  for (std::size_t id = 0; id < requests.size(); ++id) requests[id]["id"] = id;
  return requests;
}

/// A server gets its requests through a pipe.
std::string pipe_before(const device::ProgramCall& call) {
  if (call.request.empty()) return {};
  std::string line = "printf '%s\\n'";
  for (const Json& request : first_requests(call)) line += " " + system::command_line({request.dump()});
  return base::printable(line) + " | ";
}

Json json_of(const Commands& commands) {
  Json json{{"config", report::bindings_json(commands.config)}};
  if (!commands.rejected.empty()) {
    json["rejected"] = commands.rejected;
    return json;
  }
  const auto put = [&](const char* name, const std::vector<std::string>& texts) {
    if (!texts.empty()) json[name] = device::from_call_texts(texts, shown_places);
  };
  put("build", commands.build.options);
  if (!commands.build.defines.empty()) json["build_environment"] = shown(commands.build.defines);
  const bool serves = !commands.call.request.empty();
  put(serves ? "serve" : "run", commands.call.words);
  if (serves) json["requests"] = first_requests(commands.call);
  if (!commands.call.environment.empty()) json["environment"] = shown(commands.call.environment);
  put("validate", commands.call.check);
  json["folder"] = commands.call.folder;
  json["artifact"] = commands.artifact_key;
  return json;
}

void print_lines(const spec::Spec& spec, const Commands& commands, std::set<std::string>& built) {
  const std::string config = report::config_text(spec, commands.config);
  if (!commands.rejected.empty()) {
    print_exactly("# {}: rejected: {}\n", config, base::one_line(commands.rejected));
    return;
  }
  // Lines that can be pasted, in the order in which they stand.
  const device::ProgramPlaces places{"./out-" + commands.artifact_key.substr(0, 12), "/tmp"};
  if (!commands.build.options.empty() && built.insert(commands.artifact_key).second)
    print_exactly("{}\n", line_of(commands.build.defines, commands.build.options, places));
  print_exactly("{}{}  # {}\n", pipe_before(commands.call),
                line_of(commands.call.environment, commands.call.words, places), config);
  if (!commands.call.check.empty())
    print_exactly("{}\n", line_of(commands.call.environment, commands.call.check, places));
}

}  // namespace

void RunCommand::put_before_program() {
  if (!spec_.process) {
    for (const auto& [given, option] :
         {std::pair{!options_.exec_prefix.empty(), "--exec-prefix"}, {options_.dry_run, "--dry-run"}})
      if (given)
        throw bad_argument(
            "{} is about programs, and the spec has no [process]; `xtune space --rows 5` prints "
            "configurations of a kernel",
            option);
    return;
  }
  if (options_.tuning.sanitize)
    throw Error(ErrorKind::unsupported, "--sanitize is about kernels; a program's build command says how it is built");
  if (options_.exec_prefix.empty()) return;
  spec::ProcessSpec process = *spec_.process;
  process.exec_prefix = {};
  process.exec_prefix.at = spec::Location{"--exec-prefix", 0, 0};
  for (const spec::Text& word : spec::split_command({options_.exec_prefix, process.exec_prefix.at}))
    process.exec_prefix.words.emplace_back(word);
  spec_.process = std::make_shared<const spec::ProcessSpec>(std::move(process));
  worker::require_programs(spec_);
}

int RunCommand::print_commands() {
  std::set<std::string> built;
  for (const Bindings& problem : spec_.cases) {
    const space::Space space = space_of(spec_, problem, target_);
    const resolve::CandidateResolver resolver = resolver_of(spec_, space, problem, target_, {});
    const std::uint64_t count = std::min(space.size(), spec_.search.max_evals(default_printed));
    if (options_.common.text() && !problem.empty()) print_exactly("# problem: {}\n", space::shown_text(problem));
    if (count < space.size())
      tell("{} of {} configurations, in the order of the space (--evals says how many)\n", count, space.size());
    for (std::uint64_t index = 0; index < count; ++index) {
      const Commands commands = commands_of(resolver, space, space.at(index));
      if (options_.common.text()) {
        print_lines(spec_, commands, built);
        continue;
      }
      Json json = json_of(commands);
      if (!problem.empty()) json["problem"] = report::bindings_json(problem);
      results_.emplace(results_.size(), std::move(json));
    }
  }
  return done;
}

}  // namespace xtune::cli
