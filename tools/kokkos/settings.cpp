// Reads the variables XTUNE_KOKKOS_*.
#include "tools/kokkos/settings.hpp"

#include <fmt/core.h>

#include <charconv>
#include <cmath>
#include <optional>
#include <string_view>
#include <utility>

#include "base/text.hpp"
#include "core/search/strategy.hpp"

namespace xtune::kokkos_tools {
namespace {

class Reader {
 public:
  Reader(const std::function<const char*(const char*)>& variable, std::vector<std::string>& complaints)
      : variable_(variable), complaints_(complaints) {}

  std::optional<std::string> text(const char* name) const {
    const char* const value = variable_(name);
    return value && *value ? std::optional<std::string>(value) : std::nullopt;
  }
  template <class Enum>
  void word(const char* name, Enum& setting, std::initializer_list<std::pair<std::string_view, Enum>> words) const {
    const auto value = text(name);
    if (!value) return;
    std::string known;
    for (const auto& [word, meaning] : words) {
      if (*value == word) return void(setting = meaning);
      known += known.empty() ? std::string(word) : fmt::format(", {}", word);
    }
    complain(name, *value, "one of " + known);
  }
  template <class Number>
  void number(const char* name, Number& setting, Number least, Number most) const {
    const auto value = text(name);
    if (!value) return;
    Number parsed{};
    const char* const end = value->data() + value->size();
    const auto [stop, failure] = std::from_chars(value->data(), end, parsed);
    if (failure == std::errc() && stop == end && parsed >= least && parsed <= most) return void(setting = parsed);
    complain(name, *value, fmt::format("a number from {} to {}", least, most));
  }
  void complain(const char* name, const std::string& value, const std::string& expected) const {
    complaints_.push_back(fmt::format("{}='{}' is ignored: expected {}", name, base::printable(value, 80), expected));
  }

 private:
  const std::function<const char*(const char*)>& variable_;
  std::vector<std::string>& complaints_;
};

}  // namespace

Settings read_settings(const std::function<const char*(const char*)>& variable) {
  Settings settings;
  const Reader reader(variable, settings.complaints);
  reader.word<Mode>("XTUNE_KOKKOS_MODE", settings.mode,
                    {{"tune", Mode::tune}, {"stored", Mode::stored}, {"fresh", Mode::fresh}, {"off", Mode::off}});
  reader.word<bool>("XTUNE_KOKKOS_TILES", settings.tiles, {{"off", false}, {"on", true}});
  reader.word<bool>("XTUNE_KOKKOS_VERBOSE", settings.verbose, {{"0", false}, {"1", true}});
  reader.number<std::uint64_t>("XTUNE_KOKKOS_EVALS", settings.evals, 0, 1'000'000);
  reader.number<double>("XTUNE_KOKKOS_SHARE", settings.share, 0, 1);
  reader.number<double>("XTUNE_KOKKOS_REFRESH_S", settings.refresh_s, 0, 1e9);
  if (const auto name = reader.text("XTUNE_KOKKOS_STRATEGY")) {
    if (const std::string wrong = search::strategy_complaint(*name); wrong.empty())
      settings.strategy = *name;
    else
      settings.complaints.push_back("XTUNE_KOKKOS_STRATEGY is ignored: " + wrong);
  }
  return settings;
}

}  // namespace xtune::kokkos_tools
