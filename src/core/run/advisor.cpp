// Questions, answers, and the share of an advisor.
#include "core/run/advisor.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <span>
#include <variant>

#include "base/json_text.hpp"
#include "base/text.hpp"
#include "core/measure/statistics.hpp"
#include "core/spec/template_text.hpp"
#include "core/store/record.hpp"
#include "system/shell_words.hpp"
#include "xtune/error.hpp"

namespace xtune::run {
namespace {

using Json = nlohmann::ordered_json;

constexpr int advisor_protocol = 1;  // the version of the questions (docs/search.md)
constexpr std::size_t max_records = 1000, shown_values = 12, shown_message = 500;

Json json_of(const RunContext& run, const store::Record& record) {
  Json json{{"config", store::to_json(record.config)}, {"outcome", to_string(record.outcome)}};
  if (record.outcome == Outcome::ok)
    json["time_ms"] = measure::statistic(record.time_ms, run.spec.measure.statistic);
  else if (record.outcome == Outcome::pruned)
    json["at_least_ms"] = record.time_ms.min;
  if (run.criterion.score && record.outcome == Outcome::ok)
    if (const double score = run.criterion.of(record); std::isfinite(score)) json["score"] = score;
  if (!record.message.empty()) json["message"] = base::printable_lines(record.message, shown_message);
  for (const auto& [metric, values] : record.reported)
    if (!values.empty()) json["metrics"][metric] = measure::summarize(values).median;
  if (!record.proposed_by.empty()) json["proposed_by"] = record.proposed_by;
  return json;
}

/// The proposal's value as one of the parameter's; nullptr: it has no such value.
const Value* value_in(const space::Parameter& parameter, const nlohmann::json& given) {
  for (const Value& value : parameter.values) {
    const auto* const text = std::get_if<std::string>(&value);
    const auto* const boolean = std::get_if<bool>(&value);
    if (text && given.is_string() && given.get_ref<const std::string&>() == *text) return &value;
    if (boolean && given.is_boolean() && given.get<bool>() == *boolean) return &value;
    if (text || boolean || !given.is_number()) continue;
    const auto* const integer = std::get_if<std::int64_t>(&value);
    if (integer && given.is_number_integer() ? given == *integer : given.get<double>() == value_as<double>(value))
      return &value;
  }
  return nullptr;
}

std::string values_text(const space::Parameter& parameter) {
  std::string text;
  for (std::size_t i = 0; i < parameter.values.size() && i < shown_values; ++i)
    text += (i ? ", " : "") + to_text(parameter.values[i]);
  return parameter.values.size() > shown_values ? text + fmt::format(", ... ({} values)", parameter.values.size())
                                                : text;
}

/// Why the space does not have this combination of its parameters' values.
std::string objection_to(const RunContext& run, const Bindings& config) {
  const Bindings facts = device::device_facts(run.target.device);
  const auto lookup = [&](std::string_view name) -> const Value* {
    for (const Bindings* names : {&config, &run.problem, &facts})
      if (const Value* value = space::find_value(*names, name)) return value;
    return nullptr;
  };
  for (const spec::Text& text : run.spec.constraints) try {
      if (!space::truth(spec::CompiledText::expression(text).parts().front().expression.front().evaluate(lookup)))
        return fmt::format("the constraint \"{}\" is not satisfied", text.text);
    } catch (const space::ExpressionError& error) {
      return fmt::format("the constraint \"{}\": {}", text.text, error.what());
    }
  return "the space does not have this combination of values";
}

/// What does not change during a run: spec, problem, device, parameters and constraints.
Json advisor_facts(const RunContext& run) {
  Json json{{"protocol", advisor_protocol}, {"kernel", run.spec.kernel.name}};
  json["spec"]["file"] = base::utf8_text(run.spec.path.string());
  if (run.spec.text) json["spec"]["text"] = base::utf8_text(*run.spec.text);
  json["problem"] = store::to_json(run.problem);
  json["device"] = store::to_json(run.target.device);
  json["objective"] = run.criterion.score ? run.criterion.objective : "minimize time_ms";
  json["parameters"] = Json::object();
  for (const space::Parameter& parameter : run.space.parameters())
    for (const Value& value : parameter.values)
      json["parameters"][parameter.name].push_back(Json(store::to_json(value)));
  json["constraints"] = Json::array();
  for (const spec::Text& text : run.spec.constraints) json["constraints"].push_back(text.text);
  json["space_size"] = run.space.size();
  return json;
}

/// The records for a question: all, or of more than a thousand the best and the latest five hundred.
Json advisor_records(const RunContext& run, std::span<const store::Record> records) {
  std::vector<const store::Record*> chosen;
  for (const store::Record& record : records) chosen.push_back(&record);
  if (chosen.size() > max_records) {
    const auto latest = std::vector(chosen.end() - max_records / 2, chosen.end());
    chosen.resize(chosen.size() - max_records / 2);
    const auto rank = [&](const store::Record* record) {
      const double score = record->outcome == Outcome::ok ? run.criterion.of(*record) : HUGE_VAL;
      return std::isnan(score) ? HUGE_VAL : score;
    };
    std::stable_sort(chosen.begin(), chosen.end(), [&](const auto* a, const auto* b) { return rank(a) < rank(b); });
    chosen.resize(max_records / 2);
    chosen.insert(chosen.end(), latest.begin(), latest.end());
  }
  Json list = Json::array();
  for (const store::Record* record : chosen) list.push_back(json_of(run, *record));
  return list;
}

/// A proposed configuration as its index in the space, or the reason why it is none. An integer stands for a float, and
/// a float for an integer that it equals.
std::variant<std::uint64_t, std::string> read_proposal(const RunContext& run, const nlohmann::json& proposal) {
  if (!proposal.is_object()) return "it is not an object of parameters and their values";
  std::vector<std::string> names;
  for (const space::Parameter& parameter : run.space.parameters()) names.push_back(parameter.name);
  for (const auto& [name, value] : proposal.items())
    if (std::find(names.begin(), names.end(), name) == names.end())
      return fmt::format("unknown parameter '{}'{}", base::printable(name, 80), base::did_you_mean(name, names));
  Bindings config;
  for (const space::Parameter& parameter : run.space.parameters()) {
    const auto given = proposal.find(parameter.name);
    if (given == proposal.end()) return fmt::format("the parameter '{}' is missing", parameter.name);
    const Value* const value = value_in(parameter, *given);
    if (!value)
      return fmt::format("{} = {} is not one of its values: {}", parameter.name,
                         given->is_primitive() ? base::printable(given->dump(), 80) : given->type_name(),
                         values_text(parameter));
    config.emplace(parameter.name, *value);
  }
  if (const auto index = run.space.index_of(config)) return *index;
  return objection_to(run, config);
}

constexpr std::uint64_t longest_answer = std::uint64_t{4} << 20, longest_stderr = std::uint64_t{64} << 10;
constexpr std::size_t max_refused = 100;

/// Rounded up, but not because of the last bits of the product.
std::uint64_t share_of(double share, std::uint64_t count) {
  return static_cast<std::uint64_t>(std::ceil(share * static_cast<double>(count) * (1 - 1e-12)));
}

}  // namespace

Advisor::Advisor(const RunContext& run, system::EventLoop& loop, Listeners listeners)
    : run_(run), loop_(loop), listeners_(std::move(listeners)) {}

Advisor::~Advisor() = default;

bool Advisor::is_due() const {
  if (given_up_ || command_ || wanted() == 0) return false;
  return result_.questions == 0 || listeners_.evaluated() >= asked_at_ + run_.spec.search.advisor->every;
}

/// How many proposals can be tried before the next question, at most.
std::uint64_t Advisor::wanted() const {
  const spec::AdvisorSpec& spec = *run_.spec.search.advisor;
  const std::uint64_t planned = run_.planned(), left = planned - std::min(proposals_, planned);
  const std::uint64_t in_all = share_of(spec.share, planned), taken = result_.tried + queue_.size();
  return std::min(share_of(spec.share, std::min(spec.every, left)), in_all - std::min(taken, in_all));
}

void Advisor::ask() {
  const spec::AdvisorSpec& spec = *run_.spec.search.advisor;
  asked_at_ = listeners_.evaluated();
  nlohmann::ordered_json question = advisor_facts(run_);
  question["question"] = ++result_.questions;
  question["wanted"] = asked_for_ = wanted();
  question["evaluations"] = {{"done", asked_at_}, {"planned", run_.planned()}};
  question["refused"] = nlohmann::ordered_json::array();
  for (auto& [proposal, reason] : refused_) question["refused"].push_back({{"config", proposal}, {"reason", reason}});
  refused_.clear();
  question["records"] = advisor_records(run_, listeners_.results());
  system::CommandOptions options;
  options.cwd = run_.spec.path.parent_path().string();
  options.stdin_text = question.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
  options.timeout_ms = static_cast<std::uint64_t>(std::ceil(spec.timeout_s * 1e3));
  options.output_limit_bytes = longest_answer;
  options.stderr_limit_bytes = longest_stderr;
  try {
    command_ =
        std::make_unique<system::RunningCommand>(loop_, spec.command, options, [this](system::CommandResult ended) {
          command_.reset();
          take(ended);
        });
  } catch (const system::CannotStart& failure) {
    give_up(failure.what());
  }
}

void Advisor::take(const system::CommandResult& ended) {
  if (ended.timed_out)
    return give_up(fmt::format("it did not answer in {} ([search] advisor_timeout_s)",
                               base::human_seconds(run_.spec.search.advisor->timeout_s)));
  if (!ended.ok())
    return give_up("it " + system::describe_end(ended.exit_code, ended.signal, base::last_line(ended.stderr_text)));
  if (ended.stdout_text.size() >= longest_answer) return give_up("its answer is longer than 4 MiB");
  const nlohmann::json answer = base::read_json(ended.stdout_text);
  if (!answer.is_array())
    return give_up(
        fmt::format("its answer is not a JSON list of configurations: '{}'", base::printable(ended.stdout_text, 200)));
  result_.proposed += answer.size();
  for (std::size_t i = 0; i < answer.size(); ++i) {
    if (i < asked_for_)
      take_proposal(answer[i]);
    else
      refuse(answer[i], fmt::format("only the first {} of an answer are tried (\"wanted\")", asked_for_));
  }
}

void Advisor::take_proposal(const nlohmann::json& proposal) {
  const auto read = read_proposal(run_, proposal);
  if (const auto* reason = std::get_if<std::string>(&read)) return refuse(proposal, *reason);
  const std::uint64_t index = std::get<std::uint64_t>(read);
  if (!known_.insert(index).second) return refuse(proposal, "it was proposed before");
  queue_.push_back(index);
}

void Advisor::refuse(const nlohmann::json& proposal, const std::string& reason) {
  ++result_.refused;
  if (refused_.size() == max_refused) return;
  // What is not a configuration may be of any size and depth.
  const bool flat =
      proposal.is_object() && proposal.size() <= run_.space.parameters().size() + 8 &&
      std::all_of(proposal.begin(), proposal.end(), [](const auto& value) { return value.is_primitive(); });
  refused_.emplace_back(flat ? proposal : nlohmann::json(), reason);
}

void Advisor::refuse(std::uint64_t index) {
  offered_.reset();
  refuse(store::to_json(run_.space.named(run_.space.at(index))), "the search has tried it already");
}

void Advisor::give_up(const std::string& why) {
  given_up_ = true;
  run_.observer.on_warning(fmt::format("the advisor {}: {}; the search goes on without it",
                                       base::printable(system::command_line(run_.spec.search.advisor->command), 200),
                                       why));
}

std::optional<std::uint64_t> Advisor::next() {
  if (is_due()) ask();
  const bool within = result_.tried < share_of(run_.spec.search.advisor->share, proposals_ + 1);
  if (offered_ || queue_.empty() || !within) return std::nullopt;
  offered_ = queue_.front();
  queue_.pop_front();
  return offered_;
}

bool Advisor::proposed(std::uint64_t index) {
  ++proposals_;
  if (offered_ != index) return false;
  offered_.reset();
  ++result_.tried;
  return true;
}

std::unique_ptr<Advisor> make_advisor(const RunContext& run, system::EventLoop& loop, bool learns,
                                      Advisor::Listeners listeners) {
  if (!run.spec.search.advisor || !run.options.only.empty()) return nullptr;
  if (learns && !run.options.peers) return std::make_unique<Advisor>(run, loop, std::move(listeners));
  run.observer.on_note(run.options.peers
                           ? "the advisor is not asked: processes that share a search must make the same proposals"
                           : fmt::format("the advisor is not asked: the proposals of strategy '{}' do not depend on "
                                         "results{}",
                                         run.spec.search.strategy,
                                         run.planned() == run.space.size() ? ", and the whole space is tried" : ""));
  return nullptr;
}

}  // namespace xtune::run
