// Reads --jobs and XTUNE_JOBS.
#include "ipc/job_count.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <string_view>

#include "base/text.hpp"
#include "system/machine.hpp"
#include "xtune/error.hpp"

namespace xtune::ipc {
namespace {

constexpr double max_jobs = 4096, automatic = 0.9;

/// A number above 0, in digits and at most one point; nullopt: something else.
std::optional<double> positive(std::string_view text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
  if (error != std::errc() || end != text.data() + text.size() || !(number > 0) || number > max_jobs) return {};
  return number;
}

bool is_fraction(std::string_view text) { return text.find('.') != std::string_view::npos; }

double usable_cores(int sharing) {
  const auto allowed = static_cast<double>(system::usable_cpus());
  return allowed < static_cast<double>(sysconf(_SC_NPROCESSORS_ONLN)) ? allowed : allowed / std::max(sharing, 1);
}

[[noreturn]] void refuse(const std::string& source, const std::string& text) {
  throw Error(ErrorKind::invalid_argument,
              fmt::format("{}='{}' is not a number of compilers: write a count up to {:.0f} (16), a fraction of the "
                          "cores with a point, at most 1.0 (0.5), a fraction with a maximum (0.9:32), or auto",
                          source, base::printable(text, 80), max_jobs));
}

}  // namespace

std::size_t job_count(const std::string& given, int sharing) {
  const char* const variable = std::getenv("XTUNE_JOBS");
  const std::string source = given.empty() ? "XTUNE_JOBS" : "--jobs";
  const std::string text = !given.empty() ? given : variable ? variable : "";
  const auto whole = [](double jobs) { return static_cast<std::size_t>(std::max(1.0, std::round(jobs))); };
  if (text.empty() || text == "auto" || text == "-1") return whole(automatic * usable_cores(sharing));
  const std::size_t colon = text.find(':');
  const std::string first = text.substr(0, colon);
  const std::optional<double> number = positive(first);
  if (!number || (colon != std::string::npos && !is_fraction(first))) refuse(source, text);
  if (!is_fraction(first)) return whole(*number);
  if (*number > 1) refuse(source, text);
  const double jobs = std::min(*number * usable_cores(sharing), max_jobs);
  if (colon == std::string::npos) return whole(jobs);
  const std::string last = text.substr(colon + 1);
  const std::optional<double> limit = positive(last);
  if (!limit || is_fraction(last)) refuse(source, text);
  return whole(std::min(jobs, *limit));
}

}  // namespace xtune::ipc
