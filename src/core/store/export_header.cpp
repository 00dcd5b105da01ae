// The winners as a C++ header: tables of constants, and functions that choose at compile time or at run time.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/text.hpp"
#include "core/record/finals.hpp"
#include "core/space/bindings_text.hpp"
#include "core/store/export.hpp"
#include "core/store/header_text.hpp"
#include "xtune/error.hpp"
#include "xtune/version.hpp"

namespace xtune::store {
namespace {

std::vector<HeaderField> fields_of(const std::vector<const Winner*>& winners, const Bindings record::Record::*member) {
  std::vector<const Bindings*> lists;
  for (const Winner* winner : winners) lists.push_back(&(winner->record.*member));
  return header_fields(lists);
}

/// The configuration that wins most often, among equals the one with the smallest text.
const Winner& most_frequent(const std::vector<const Winner*>& winners) {
  std::map<std::string, std::pair<int, const Winner*>> counts;
  for (const Winner* winner : winners) {
    auto& [count, first] = counts[space::bindings_text(winner->record.config)];
    if (count++ == 0) first = winner;
  }
  return *std::max_element(counts.begin(), counts.end(), [](const auto& a, const auto& b) {
            return a.second.first < b.second.first;
          })->second.second;
}

// Sizes as ratios: their product orders as the sum of the logarithms does, which are not constexpr.
std::string distance_text(const std::vector<HeaderField>& dimensions) {
  std::string text =
      "namespace detail {\n"
      "constexpr double ratio(double a, double b) {\n"
      "  if (!(a > 0) || !(b > 0)) return a < b || b < a ? 1e300 : 1.0;\n"
      "  return a < b ? b / a : a / b;\n"
      "}\n"
      "constexpr double distance([[maybe_unused]] const Problem& a, [[maybe_unused]] const Problem& b) {\n"
      "  double product = 1.0;\n";
  for (const HeaderField& field : dimensions)
    if (field.kind == ValueKind::integer || field.kind == ValueKind::real)
      text += fmt::format("  product *= ratio(static_cast<double>(a.{0}), static_cast<double>(b.{0}));\n", field.word);
    else
      text += fmt::format("  if (a.{0} != b.{0}) return 1e300;\n", field.word);
  return text +
         "  return product;\n"
         "}\n"
         "}  // namespace detail\n";
}

constexpr const char* choose_text = R"(
/// The configuration of the nearest problem measured on this architecture, by shape; on this device where one is named
/// and was measured. The default where nothing was.
constexpr const Config& best(std::string_view arch, const Problem& problem, std::string_view device = {}) {
  const Winner* nearest = nullptr;
  double least = 1e299;
  bool on_device = false;
  for (const Winner& winner : winners) {
    if (winner.arch != arch) continue;
    const double distance = detail::distance(winner.problem, problem);
    const bool here = winner.device == device;
    if (distance < least || (!(least < distance) && here && !on_device && distance < 1e299)) {
      nearest = &winner;
      least = distance;
      on_device = here;
    }
  }
  return nearest ? nearest->config : default_config;
}
)";

std::string kernel_text(const std::string& kernel, const std::string& word, std::vector<const Winner*> winners,
                        std::vector<std::string>& warnings) {
  const record::Record& newest =
      (*std::max_element(winners.begin(), winners.end(), [](const Winner* a, const Winner* b) {
        return a->record.unix_time_ms < b->record.unix_time_ms;
      }))->record;
  const std::size_t all = winners.size();
  std::erase_if(winners, [&](const Winner* winner) {
    return !same_names(winner->record.config, newest.config) || !same_names(winner->record.problem, newest.problem);
  });
  if (winners.size() < all)
    warnings.push_back(fmt::format("{}: {} winners skipped: their parameters or dimensions differ from the newest's",
                                   base::printable(kernel, 80), all - winners.size()));
  const std::vector<HeaderField> parameters = fields_of(winners, &record::Record::config),
                                 dimensions = fields_of(winners, &record::Record::problem);
  std::string text = fmt::format("\n/// {}\nnamespace xtune_best::{} {{\n\n", in_comment(kernel), word);
  text += header_structure("Config", parameters) + "\n" + header_structure("Problem", dimensions);
  text +=
      "\nstruct Winner {\n  std::string_view arch, device;\n  Problem problem;\n  Config config;\n  double "
      "time_ms;\n};\n";
  text += "\ninline constexpr Winner winners[] = {\n";
  for (const Winner* winner : winners)
    text += fmt::format(
        "    {{{}, {}, {}, {}, {}}},{}\n", string_literal(winner->arch), string_literal(winner->record.device.name),
        header_initializer(winner->record.problem, dimensions), header_initializer(winner->record.config, parameters),
        header_number(winner->record.time_ms.median),
        winner->record.device.driver.empty() ? "" : "  // driver " + in_comment(winner->record.device.driver));
  text += fmt::format("}};\n\n/// What won most often.\ninline constexpr Config default_config = {};\n\n",
                      header_initializer(most_frequent(winners).record.config, parameters));
  return text + distance_text(dimensions) + choose_text + fmt::format("\n}}  // namespace xtune_best::{}\n", word);
}

}  // namespace

std::string export_header(const std::vector<Winner>& winners, std::vector<std::string>& warnings) {
  std::map<std::string, std::vector<const Winner*>> kernels;
  for (const Winner& winner : winners) kernels[winner.kernel].push_back(&winner);
  if (kernels.empty()) throw no_answers();
  std::string text = fmt::format(
      "// The fastest configurations found by xtune {}, by architecture and problem. Generated by\n"
      "// `xtune store export --format header`; C++17 or later.\n"
      "#pragma once\n\n#include <limits>\n#include <string_view>\n",
      version);
  std::set<std::string> used;
  for (const auto& [kernel, of_kernel] : kernels)
    text += kernel_text(kernel, identifier(kernel, used), of_kernel, warnings);
  return text;
}

}  // namespace xtune::store
