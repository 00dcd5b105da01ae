// Rows for each kind of answer, and a sentence for each finding.
#include "report/text/audit_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "core/space/value.hpp"
#include "report/text/run_report.hpp"
#include "report/text/table.hpp"

namespace xtune::report {

namespace {

using Json = nlohmann::ordered_json;
using run::AuditedCase;
using run::AuditedNeighbour;
using run::AuditFindings;
using run::ComparedConfig;

std::string percent(double share) { return fmt::format("{:.1f} %", share * 100); }

/// Of another case, as far as it differs from this one: "M=512".
std::string difference(const Bindings& other, const Bindings& own) {
  const Bindings differing = without(other, own);
  return space::shown_text(differing.empty() ? other : differing);
}

std::string interval_text(const ComparedConfig* config) {
  if (!config || !config->ratio || config->ratio->low >= config->ratio->high) return "-";
  return fmt::format("{:.1f} .. {:.1f} %", (config->ratio->low - 1) * 100, (config->ratio->high - 1) * 100);
}

std::string answer_of(const AuditedCase& one, const Bindings& winner) {
  if (winner == one.reference()->winner) return "winner";
  const auto flips = [&](const run::AuditedRepeat& repeat) { return repeat.winner == winner && one.flips(repeat); };
  return std::any_of(one.repeats.begin(), one.repeats.end(), flips) ? "flip" : "tie";
}

std::string worst_text(const AuditFindings::Worst& worst) {
  std::string text = std::isinf(worst.regret) ? "one failed" : "at most " + percent(worst.regret);
  if (!worst.at->problem.empty()) text += " (" + space::shown_text(worst.at->problem);
  if (worst.neighbour && worst.at->preferred)
    text += " with that of the model of the hardware";
  else if (worst.neighbour)
    text += fmt::format(" with that of {}, distance {:.3g}", difference(worst.neighbour->problem, worst.at->problem),
                        worst.neighbour->distance);
  if (!worst.at->problem.empty()) text += ")";
  return worst.proven || worst.regret <= 0 ? text : text + ", not proven: its interval reaches 0";
}

Json compared_json(const AuditedCase& one, const Bindings& config) {
  Json json{{"config", bindings_json(config)}, {"regret", nullptr}, {"interval", nullptr}};
  const ComparedConfig* const found = one.find(config);
  if (!found) return json;
  if (found->ratio) {
    json["regret"] = found->regret();
    json["interval"] = {found->ratio->low - 1, found->ratio->high - 1};
    json["rounds"] = found->ratio->rounds;
  } else {
    json["failure"] = found->failure;
  }
  return json;
}

Json repeat_json(const AuditedCase& one, const run::AuditedRepeat& repeat) {
  Json json{{"seed", repeat.seed},           {"winner", nullptr},         {"ties", Json::array()},
            {"evaluated", repeat.evaluated}, {"seconds", repeat.total_s}, {"flip", one.flips(repeat)}};
  if (!repeat.winner) return json;
  json["winner"] = bindings_json(*repeat.winner);
  json["time_ms"] = repeat.time_ms;
  for (const Bindings& tie : repeat.ties) json["ties"].push_back(bindings_json(tie));
  return json;
}

Json case_json(const AuditedCase& one) {
  Json json{{"problem", bindings_json(one.problem)}, {"flips", one.flips()}, {"agreement", one.agreement()}};
  json["repeats"] = json["winners"] = json["ties"] = json["neighbours"] = Json::array();
  for (const run::AuditedRepeat& repeat : one.repeats) json["repeats"].push_back(repeat_json(one, repeat));
  for (const auto& [winner, count] : one.winners()) {
    Json row = compared_json(one, winner);
    row["repeats"] = count;
    row["answer"] = answer_of(one, winner);
    json["winners"].push_back(std::move(row));
  }
  if (const run::AuditedRepeat* const reference = one.reference())
    for (const Bindings& tie : reference->ties) json["ties"].push_back(compared_json(one, tie));
  for (const AuditedNeighbour& neighbour : one.neighbours) {
    Json row = compared_json(one, neighbour.winner);
    row["problem"] = bindings_json(neighbour.problem);
    row["distance"] = neighbour.distance;
    row["in_bucket"] = neighbour.in_bucket;
    row["in_reach"] = neighbour.in_reach;
    json["neighbours"].push_back(std::move(row));
  }
  json["default"] = one.default_config ? compared_json(one, *one.default_config) : Json();
  json["preferred"] = one.preferred ? compared_json(one, *one.preferred) : Json();
  return json;
}

Json worst_json(const std::optional<AuditFindings::Worst>& worst) {
  if (!worst || std::isinf(worst->regret)) return nullptr;
  return worst->regret;
}

}  // namespace

std::string regret_text(double regret) { return std::isinf(regret) ? "failed" : percent(regret); }

std::string audit_case_text(const spec::Spec& spec, const AuditedCase& one, std::size_t width) {
  std::string text = one.problem.empty() ? "\n" : fmt::format("\nproblem: {}\n", space::shown_text(one.problem));
  if (one.repeats.empty()) return text + "no tuning was completed\n";
  if (one.winners().empty()) return text + "no configuration passed in any repeat\n";
  using Kind = FittedTable::Kind;
  FittedTable table{{{"repeats"},
                     {"answer"},
                     {"regret"},
                     {"99.5 % interval"},
                     {"configuration", Kind::text},
                     {"failure", Kind::remark}}};
  const auto add = [&](const std::string& repeats, const std::string& answer, const Bindings& config) {
    const ComparedConfig* const found = one.find(config);
    table.rows.push_back({repeats, answer, found ? regret_text(found->regret()) : "-", interval_text(found),
                          config_text(spec, config), found ? base::first_line(found->failure) : ""});
  };
  for (const auto& [winner, count] : one.winners()) add(std::to_string(count), answer_of(one, winner), winner);
  for (const AuditedNeighbour& neighbour : one.neighbours)
    add("-", "of " + difference(neighbour.problem, one.problem) + (neighbour.in_reach ? "" : ", out of reach"),
        neighbour.winner);
  if (one.preferred) add("-", "of the model", *one.preferred);
  if (one.default_config) add("-", "default", *one.default_config);
  return text + render_fitted(table, width);
}

std::string audit_text(const spec::Spec& spec, const std::vector<AuditedCase>& cases) {
  const AuditFindings findings = run::findings_of(cases);
  std::string text =
      fmt::format("\n{}: {} tunings of {}\n", spec.kernel.name, findings.repeats, counted(cases.size(), "problem"));
  text += fmt::format("flips: {} ({}) named a winner that is neither the usual one nor its tie\n", findings.flips,
                      percent(findings.flip_share()));
  if (findings.without_winner) text += fmt::format("without a winner: {}\n", findings.without_winner);
  if (findings.repeats > findings.without_winner)
    text += fmt::format("agreement: {:.0f} % of the pairs of tunings named exactly the same winner\n",
                        findings.agreement * 100);
  const auto add = [&](const char* what, const std::optional<AuditFindings::Worst>& worst) {
    if (worst) text += fmt::format("regret of {}: {}\n", what, worst_text(*worst));
  };
  add("the winners", findings.winner);
  add("declared ties", findings.tie);
  add("the nearest case's winner", findings.neighbour);
  add("the default configuration", findings.default_config);
  return text;
}

Json audit_json(const spec::Spec& spec, const std::vector<AuditedCase>& cases) {
  const AuditFindings findings = run::findings_of(cases);
  Json json{{"kernel", spec.kernel.name}};
  if (!cases.empty()) {
    const device::DeviceInfo& device = cases.front().device;
    json["device"] = {{"backend", device.backend}, {"name", device.name}, {"arch", device.arch}};
  }
  json["tunings"] = findings.repeats;
  json["flips"] = findings.flips;
  json["flip_share"] = findings.flip_share();
  json["without_winner"] = findings.without_winner;
  json["agreement"] = findings.agreement;
  json["max_regret"] = {{"winner", worst_json(findings.winner)},
                        {"tie", worst_json(findings.tie)},
                        {"neighbour", worst_json(findings.neighbour)},
                        {"default", worst_json(findings.default_config)}};
  json["cases"] = Json::array();
  for (const AuditedCase& one : cases) json["cases"].push_back(case_json(one));
  return json;
}

}  // namespace xtune::report
