// The outcome of each configuration, and why the failed ones failed.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <map>

#include "base/text.hpp"
#include "report/page_parts.hpp"
#include "report/page_sections.hpp"
#include "report/run_report.hpp"

namespace xtune::report {
namespace {

constexpr std::array all_outcomes{Outcome::ok,           Outcome::pruned,         Outcome::rejected,
                                  Outcome::wrong_result, Outcome::compile_failed, Outcome::launch_failed,
                                  Outcome::timed_out,    Outcome::crashed};
constexpr std::size_t most_messages = 24, longest_message = 400;

const char* style_of(Outcome outcome) {
  if (outcome == Outcome::ok) return "ok";
  return outcome == Outcome::pruned || outcome == Outcome::rejected ? "pruned" : "bad";
}

const char* meaning_of(Outcome outcome) {
  switch (outcome) {
    case Outcome::ok:
      return "measured in full, right result";
    case Outcome::pruned:
      return "dropped early: slower than the best";
    case Outcome::rejected:
      return "a device limit forbids it";
    case Outcome::compile_failed:
      return "the compiler refused it";
    case Outcome::launch_failed:
      return "the driver refused it";
    case Outcome::wrong_result:
      return "outputs differ from the reference";
    case Outcome::timed_out:
      return "exceeded its time limit";
    case Outcome::crashed:
      return "the compiler or the kernel crashed";
  }
  return "";
}

/// Finals measure configurations again that passed before: only their failures count.
bool is_counted(const CaseEvent& event) { return !event.of_finals || event.record->outcome != Outcome::ok; }

/// Messages that differ only in numbers are combined.
std::string form_of(std::string_view message) {
  std::string form;
  for (const char c : base::first_line(message)) {
    const bool digit = std::isdigit(static_cast<unsigned char>(c)) != 0;
    if (!digit)
      form += c;
    else if (form.empty() || form.back() != '#')
      form += '#';
  }
  return form;
}

struct MessageGroup {
  Outcome outcome = Outcome::ok;
  std::size_t count = 0;
  const record::Record* example = nullptr;
};

std::vector<MessageGroup> message_groups(const CaseView& view) {
  std::map<std::pair<Outcome, std::string>, MessageGroup> groups;
  for (const CaseEvent& event : view.events) {
    const record::Record& record = *event.record;
    if (record.outcome == Outcome::ok || record.outcome == Outcome::pruned) continue;
    MessageGroup& group = groups[{record.outcome, form_of(record.message)}];
    if (group.count++ == 0) group.outcome = record.outcome, group.example = &record;
  }
  std::vector<MessageGroup> list;
  for (const auto& [form, group] : groups) list.push_back(group);
  std::stable_sort(list.begin(), list.end(),
                   [](const MessageGroup& a, const MessageGroup& b) { return a.count > b.count; });
  return list;
}

std::string outcome_map(const CaseView& view, const std::map<Outcome, std::size_t>& counts) {
  std::vector<std::string> lanes;
  std::vector<Outcome> outcomes;
  for (auto at = all_outcomes.rbegin(); at != all_outcomes.rend(); ++at)
    if (counts.contains(*at)) lanes.emplace_back(to_string(*at)), outcomes.push_back(*at);
  plot::Canvas canvas(
      {"Outcome of each configuration in the order of the search", "The table gives the counts."},
      {plot::PlotScale(plot::ScaleKind::linear, 0, static_cast<double>(view.events.size()) + 0.5), "evaluations", 6},
      {plot::PlotScale::categories(lanes), "", 8}, {460, 50 + 26.0 * static_cast<double>(lanes.size())});
  for (std::size_t lane = 0; lane < outcomes.size(); ++lane)
    canvas.strokes(
        drawn_points(
            view, [](std::size_t place, const CaseEvent&) { return static_cast<double>(place + 1); },
            [&](std::size_t, const CaseEvent&) { return static_cast<double>(lane); },
            [&](const CaseEvent& event) { return is_counted(event) && event.record->outcome == outcomes[lane]; }),
        style_of(outcomes[lane]), view.limits.drawn);
  return figure(canvas, "Outcome of each configuration in the order of the search");
}

std::string message_table(const CaseView& view) {
  const std::vector<MessageGroup> groups = message_groups(view);
  if (groups.empty()) return "";
  PageTable content;
  content.caption = "Why configurations failed, the most frequent reason first";
  content.header = {"outcome", "count", "message of an example", "its configuration"};
  content.right = {false, true, false, false};
  content.wraps = {false, false, true, true};
  for (std::size_t i = 0; i < groups.size() && i < most_messages; ++i)
    content.rows.push_back({to_string(groups[i].outcome), std::to_string(groups[i].count),
                            base::printable_lines(groups[i].example->message, longest_message),
                            config_text(*view.shown.spec, groups[i].example->config)});
  std::string text = table(content);
  if (groups.size() > most_messages)
    text += paragraph(fmt::format("{} rarer messages are not shown.", groups.size() - most_messages), "note");
  return text;
}

}  // namespace

std::string outcomes_section(const CaseView& view) {
  if (view.events.empty()) return "";
  std::map<Outcome, std::size_t> counts;
  std::size_t sum = 0;
  for (const CaseEvent& event : view.events)
    if (is_counted(event)) ++counts[event.record->outcome], ++sum;
  PageTable content;
  content.caption = "Outcomes";
  content.header = {"outcome", "count", "share", "meaning"};
  content.right = {false, true, true, false};
  content.wraps = {false, false, false, true};
  for (const Outcome outcome : all_outcomes)
    if (const auto found = counts.find(outcome); found != counts.end())
      content.rows.push_back(
          {to_string(outcome), std::to_string(found->second),
           fmt::format("{:.1f} %", 100.0 * static_cast<double>(found->second) / static_cast<double>(sum)),
           meaning_of(outcome)});
  return heading(view.heading, "Outcomes") + "<div class=\"figures\">\n" + outcome_map(view, counts) + table(content) +
         "</div>\n" + message_table(view);
}

}  // namespace xtune::report
