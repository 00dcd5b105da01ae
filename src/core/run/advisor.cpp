// Questions, answers, and the share of an advisor.
#include "core/run/advisor.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/json_text.hpp"
#include "base/process_end.hpp"
#include "base/shell_words.hpp"
#include "base/text.hpp"
#include "core/record/record_json.hpp"
#include "core/run/advisor_json.hpp"
#include "xtune/error.hpp"

namespace xtune::run {
namespace {

constexpr std::uint64_t longest_answer = std::uint64_t{4} << 20, longest_stderr = std::uint64_t{64} << 10;
constexpr std::size_t most_refused = 100;

/// Rounded up, but not because of the last bits of the product.
std::uint64_t share_of(double share, std::uint64_t count) {
  return static_cast<std::uint64_t>(std::ceil(share * static_cast<double>(count) * (1 - 1e-12)));
}

}  // namespace

Advisor::Advisor(const RunContext& run, base::EventLoop& loop, Listeners listeners)
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
  base::CommandOptions options;
  options.cwd = run_.spec.path.parent_path().string();
  options.stdin_text = question.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
  options.timeout_ms = static_cast<std::uint64_t>(std::ceil(spec.timeout_s * 1e3));
  options.output_limit_bytes = longest_answer;
  options.stderr_limit_bytes = longest_stderr;
  try {
    command_ = std::make_unique<base::RunningCommand>(loop_, spec.command, options, [this](base::CommandResult ended) {
      command_.reset();
      take(ended);
    });
  } catch (const base::CannotStart& failure) {
    give_up(failure.what());
  }
}

void Advisor::take(const base::CommandResult& ended) {
  if (ended.timed_out)
    return give_up(fmt::format("it did not answer in {} ([search] advisor_timeout_s)",
                               base::human_seconds(run_.spec.search.advisor->timeout_s)));
  if (!ended.ok())
    return give_up("it " + base::describe_end(ended.exit_code, ended.signal, base::last_line(ended.stderr_text)));
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
  if (refused_.size() == most_refused) return;
  // What is not a configuration may be of any size and depth.
  const bool flat =
      proposal.is_object() && proposal.size() <= run_.space.parameters().size() + 8 &&
      std::all_of(proposal.begin(), proposal.end(), [](const auto& value) { return value.is_primitive(); });
  refused_.emplace_back(flat ? proposal : nlohmann::json(), reason);
}

void Advisor::refuse(std::uint64_t index) {
  offered_.reset();
  refuse(record::to_json(run_.space.named(run_.space.at(index))), "the search has tried it already");
}

void Advisor::give_up(const std::string& why) {
  given_up_ = true;
  run_.observer.on_warning(fmt::format("the advisor {}: {}; the search goes on without it",
                                       base::printable(base::command_line(run_.spec.search.advisor->command), 200),
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

std::unique_ptr<Advisor> make_advisor(const RunContext& run, base::EventLoop& loop, bool learns,
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
