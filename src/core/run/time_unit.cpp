// Compares what a program reports with how long it ran.
#include "core/run/time_unit.hpp"

#include <fmt/core.h>

#include "base/text.hpp"
#include "core/measure/statistics.hpp"

namespace xtune::run {

std::string time_unit_warning(const spec::ProcessSpec& process, const ipc::BenchAnswer& answer) {
  using Form = device::ProgramValue::Form;
  if (process.device != "host" || process.time.form == Form::wall || !process.time.unit.empty()) return {};
  if (answer.samples_ms.empty() || !(answer.busy_s > 0)) return {};
  const double time_ms = measure::summarize(answer.samples_ms).median;
  // Runs before the samples and after them make this up to some times too large.
  const double ran_ms = answer.busy_s * 1e3 / static_cast<double>(answer.samples_ms.size() + 1);
  const double ratio = ran_ms / time_ms;
  // 1.0 s read as 1.0 ms; 1000 us read as 1000 ms.
  const char* const unit = ratio > 700 && ratio < 4000 ? "s" : ratio < 0.02 && ratio > 2e-4 ? "us" : nullptr;
  if (!unit) return {};
  return fmt::format(
      "the program reports {} and ran for about {}: if its number is in {}, set unit = \"{}\" in [process] "
      "time; unit = \"ms\" keeps it",
      base::human_time_ms(time_ms), base::human_time_ms(ran_ms), unit, unit);
}

}  // namespace xtune::run
