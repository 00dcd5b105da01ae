// xtune score: how fast strategies find the best configuration of recorded spaces.

#include "lab/score.hpp"

#include <set>
#include <thread>

#include "base/text.hpp"
#include "core/spec/spec.hpp"
#include "lab/commands/commands.hpp"
#include "system/clock.hpp"

namespace xtune::cli {
namespace {

struct ScoreCommand {
  std::vector<std::string> paths;
  std::string strategies = "auto";
  std::string evals = "25,50,100,200,400";
  std::string statistic;
  std::string format = "text";
  std::size_t repeats = 30, threads = 0;
  std::uint64_t seed = 1;
  bool no_aggregate = false, transfer = false;
};

std::vector<std::string> split(const std::string& text, const char* option) {
  std::vector<std::string> parts = base::split(text, ',');
  if (std::find(parts.begin(), parts.end(), "") != parts.end())
    throw bad_argument("{} {}: an entry of the list is empty", option, base::printable(text, 80));
  return parts;
}

std::vector<std::uint64_t> read_evals(const std::string& text) {
  std::set<std::uint64_t> evals;
  for (const std::string& part : split(text, "--evals")) {
    const auto number = number_in<std::uint64_t>(part);
    if (!number || *number == 0)
      throw bad_argument("--evals {}: '{}' is not a number of evaluations; give counts from 1 on, such as 25,50,100",
                         base::printable(text, 80), base::printable(part, 40));
    evals.insert(*number);
  }
  return {evals.begin(), evals.end()};
}

std::vector<lab::Recording> read_all(const ScoreCommand& command) {
  std::vector<lab::Recording> recordings;
  std::set<std::string> names;
  for (const std::string& path : command.paths) {
    for (lab::Recording& recording : read_given_recordings(path, spec::statistic_from_string(command.statistic))) {
      const std::string own = recording.name;
      for (int copy = 2; !names.insert(recording.name).second; ++copy)
        recording.name = fmt::format("{} ({})", own, copy);
      warn_of(recording);
      recordings.push_back(std::move(recording));
    }
  }
  return recordings;
}

lab::ScoreOptions score_options(const ScoreCommand& command) {
  lab::ScoreOptions options;
  std::set<std::string> seen;
  for (std::string& name : split(command.strategies, "--strategy"))
    if (seen.insert(name).second) options.strategies.push_back(std::move(name));
  // Before any file is read, so that a misspelt name is reported at once.
  const space::Space one = space::Space::listed({{"x", {std::int64_t{0}}, true}}, {{0}});
  for (const std::string& name : options.strategies) search::make_strategy(name, one, 1, 1);
  options.evals = read_evals(command.evals);
  options.repeats = command.repeats;
  options.seed = command.seed;
  options.aggregate = !command.no_aggregate;
  options.transfer = command.transfer;
  options.threads = command.threads ? command.threads : std::max(1u, std::thread::hardware_concurrency());
  options.thread_cpu_s = system::thread_cpu_s;
  options.note = [](const std::string& note) { tell("note: {}\n", note); };
  return options;
}

lab::StrategyScore exact_random(const std::vector<lab::Recording>& recordings, const lab::ScoreOptions& options) {
  lab::StrategyScore exact;
  exact.strategy = "random, exact";
  exact.mean.assign(options.evals.size(), 0);
  for (const lab::Recording& recording : recordings) {
    exact.spaces.push_back({lab::random_expectation(recording, options.evals), std::nullopt});
    for (std::size_t i = 0; i < exact.mean.size(); ++i)
      exact.mean[i] += exact.spaces.back().found[i] / static_cast<double>(recordings.size());
  }
  return exact;
}

Json found_json(const std::vector<std::uint64_t>& evals, const std::vector<double>& found) {
  Json json;
  for (std::size_t i = 0; i < evals.size(); ++i) json[std::to_string(evals[i])] = found[i];
  return json;
}

Json score_json(const std::vector<lab::Recording>& recordings, const lab::ScoreOptions& options,
                const lab::StrategyScore& score) {
  Json json{{"spaces", Json::object()}};
  for (std::size_t i = 0; i < recordings.size(); ++i)
    json["spaces"][recordings[i].name] = found_json(options.evals, score.spaces[i].found);
  json["mean"] = found_json(options.evals, score.mean);
  return json;
}

Json scores_json(const std::vector<lab::Recording>& recordings, const lab::ScoreOptions& options,
                 const std::vector<lab::StrategyScore>& scores) {
  Json json;
  for (const lab::StrategyScore& score : scores) {
    auto& entry = json[score.strategy] = score_json(recordings, options, score);
    entry["score"] = optional_json(score.aggregate);
    for (std::size_t i = 0; i < recordings.size(); ++i)
      entry["score_by_space"][recordings[i].name] = optional_json(score.spaces[i].aggregate);
    entry["ms_per_proposal"] = score.ms_per_proposal;
  }
  json["random_exact"] = score_json(recordings, options, exact_random(recordings, options));
  return json;
}

void print_tables(const std::vector<lab::Recording>& recordings, const lab::ScoreOptions& options,
                  const std::vector<lab::StrategyScore>& scores) {
  std::vector<std::string> header{"strategy", "space"};
  for (const std::uint64_t evals : options.evals) header.push_back(std::to_string(evals));
  header.insert(header.end(), {"P(t)", "ms/proposal"});
  std::vector<std::vector<std::string>> rows;
  const auto add = [&](const lab::StrategyScore& score, const std::string& space, const std::vector<double>& found,
                       const std::optional<double>& aggregate, bool mean) {
    std::vector<std::string> row{score.strategy, space};
    for (const double value : found) row.push_back(fmt::format("{:.3f}", value));
    row.push_back(aggregate ? fmt::format("{:.3f}", *aggregate) : "-");
    row.push_back(mean && score.strategy != "random, exact" ? fmt::format("{:.3f}", score.ms_per_proposal) : "-");
    rows.push_back(std::move(row));
  };
  std::vector<lab::StrategyScore> all = scores;
  all.push_back(exact_random(recordings, options));
  for (const lab::StrategyScore& score : all) {
    if (recordings.size() > 1)
      for (std::size_t i = 0; i < recordings.size(); ++i)
        add(score, recordings[i].name, score.spaces[i].found, score.spaces[i].aggregate, false);
    add(score, recordings.size() > 1 ? "mean" : recordings.front().name, score.mean, score.aggregate, true);
  }
  print_out("optimum / best found after N evaluations, mean of {} repeats\n{}", options.repeats,
            report::render_table(header, rows));
}

int run_score(const ScoreCommand& command) {
  const lab::ScoreOptions options = score_options(command);
  const std::vector<lab::Recording> recordings = read_all(command);
  const std::vector<lab::StrategyScore> scores = lab::score_strategies(recordings, options);
  print_answer(
      command.format, [&] { return scores_json(recordings, options, scores); },
      [&] { print_tables(recordings, options, scores); });
  return done;
}

}  // namespace

void add_score_command(CLI::App& app, Context& context) {
  const auto [command, options] = add_command<ScoreCommand>(
      app, context, "score", "Compare search strategies on recorded spaces",
      "xtune score --strategy auto,random --repeats 30 --evals 25,50,100 recorded/*.json.gz", run_score);
  add_argument(command, "recordings", options.paths, "FILE",
               "Kernel Tuner caches (.json, .json.gz), record files (.jsonl) or stores");
  const OptionGroup search(command, option_group::search);
  search.value("--strategy", options.strategies, "LIST", "Compare these strategies, separated by commas");
  search.value("--evals", options.evals, "LIST", "Look after this many evaluations; failed ones count");
  search.number("--repeats", options.repeats, 1, "Search each space this often with each strategy", 1'000'000);
  search.number("--seed", options.seed, 0, "Seed the searches");
  search.number("--threads", options.threads, 0, "Search in this many threads; default: all cores");
  search.words("--statistic", options.statistic,
               {spec::statistic_words.words.begin(), spec::statistic_words.words.end()},
               "Rank configurations by this statistic of their samples; default: Kernel Tuner's own time, else the "
               "median");
  search.flag("--transfer", options.transfer, "Guide the search on each recording by the others of the same kernel");
  search.flag("--no-aggregate", options.no_aggregate, "Skip the aggregate score P(t), which needs longer searches");
  add_format_option(command, options.format);
}

}  // namespace xtune::cli
