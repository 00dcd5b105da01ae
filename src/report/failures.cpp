// Groups and examples of failures.
#include "report/failures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>

#include "base/text.hpp"
#include "report/run_report.hpp"

namespace xtune::report {
namespace {

/// On one line: the lines of a message are separated by " | ".
std::string message_line(const std::string& message) {
  std::string line;
  for (const char c : base::printable_lines(message, 600)) {
    if (c == '\n')
      line += " | ";
    else
      line += c;
  }
  return line;
}

}  // namespace

std::vector<FailureGroup> failure_groups(const run::TuneResult& result) {
  std::map<Outcome, FailureGroup> groups;
  for (const record::Record& record : result.records) {
    if (record.outcome == Outcome::ok || record.outcome == Outcome::pruned) continue;
    FailureGroup& group = groups[record.outcome];
    group.outcome = record.outcome;
    ++group.count;
    const bool reported = record::is_sanitizer_report(record.message);
    if ((!group.example && !record.message.empty()) || (reported && !group.sanitizer)) group.example = &record;
    group.sanitizer = group.sanitizer || reported;
  }
  for (const auto& [outcome, count] : result.unread) {
    if (outcome == Outcome::ok || outcome == Outcome::pruned) continue;
    groups[outcome].outcome = outcome;
    groups[outcome].count += count;
  }
  std::vector<FailureGroup> list;
  for (const auto& [outcome, group] : groups) list.push_back(group);
  std::stable_sort(list.begin(), list.end(), [](const FailureGroup& a, const FailureGroup& b) {
    const auto rank = [](const FailureGroup& group) {
      return std::tuple(!group.sanitizer, group.outcome == Outcome::rejected, ~group.count);
    };
    return rank(a) < rank(b);
  });
  return list;
}

std::string failures_text(const spec::Spec& spec, const run::TuneResult& result) {
  std::string text;
  bool has_log = false;
  for (const FailureGroup& group : failure_groups(result)) {
    if (!group.example) continue;
    has_log = has_log || group.outcome == Outcome::compile_failed || group.outcome == Outcome::crashed;
    text += fmt::format("{} {}, e.g. {}: {}\n", group.count, to_string(group.outcome),
                        config_text(spec, group.example->config), message_line(group.example->message));
  }
  if (has_log) text += "(run --log FILE keeps all that compilers and kernels print)\n";
  return text;
}

nlohmann::ordered_json failures_json(const run::TuneResult& result) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const FailureGroup& group : failure_groups(result)) {
    nlohmann::ordered_json json{
        {"outcome", to_string(group.outcome)}, {"count", group.count}, {"sanitizer", group.sanitizer}};
    json["config"] = group.example ? bindings_json(group.example->config) : nlohmann::ordered_json();
    json["message"] = group.example ? nlohmann::ordered_json(group.example->message) : nlohmann::ordered_json();
    list.push_back(std::move(json));
  }
  return list;
}

}  // namespace xtune::report
