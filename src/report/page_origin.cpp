// The origin of the numbers: device, driver, clocks, compiler, command and spec.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/shell_words.hpp"
#include "base/text.hpp"
#include "base/utc_time.hpp"
#include "plot/markup.hpp"
#include "report/page_parts.hpp"
#include "report/page_sections.hpp"

namespace xtune::report {
namespace {

constexpr std::size_t longest_spec = 64 << 10, most_listed = 6;

/// Texts that differ between records: "A, B and 3 more".
class FewTexts {
 public:
  void add(const std::string& text) {
    if (!text.empty()) base::add_once(texts_, text);
  }
  std::string text() const {
    std::string result;
    for (std::size_t i = 0; i < texts_.size() && i < most_listed; ++i) result += (i ? ", " : "") + texts_[i];
    if (texts_.size() > most_listed) result += fmt::format(" and {} more", texts_.size() - most_listed);
    return result;
  }

 private:
  std::vector<std::string> texts_;
};

/// "1980 MHz", "1950 to 1980 MHz"; empty if none is known.
std::string range_of(const std::vector<double>& values, const char* unit) {
  if (values.empty()) return "";
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  if (*high - *low < 0.5) return fmt::format("{:.0f} {}", *low, unit);
  return fmt::format("{:.0f} to {:.0f} {}", *low, *high, unit);
}

struct TelemetryRanges {
  std::vector<double> clocks, temperatures, powers;
  void add(const measure::Telemetry& one) {
    if (one.clock_mhz > 0) clocks.push_back(one.clock_mhz);
    if (one.temperature_c > 0) temperatures.push_back(one.temperature_c);
    if (one.power_w > 0) powers.push_back(one.power_w);
  }
};

std::string device_facts_list(const ReportCase& one, const std::string& name) {
  FewTexts compilers, drivers, hosts;
  TelemetryRanges telemetry;
  std::set<std::string> attempts;
  for (const record::Record& record : *one.records) {
    compilers.add(record.toolchain);
    drivers.add(record.device.driver);
    hosts.add(record.host);
    telemetry.add(record.telemetry);
    attempts.insert(record.attempt);
  }
  std::string when;
  if (!one.records->empty())
    when = fmt::format("{} to {}, {}", base::utc_text(one.records->front().unix_time_ms),
                       base::utc_text(one.records->back().unix_time_ms), counted_text(attempts.size(), "run"));
  const device::DeviceInfo& device = one.device;
  return facts(
      {{"device", name},
       {"architecture", device.arch},
       {"backend", device.backend},
       {"driver", drivers.text()},
       {"compute units", device.compute_units ? std::to_string(device.compute_units) : ""},
       {"memory", device.memory_bytes ? base::human_bytes(static_cast<std::uint64_t>(device.memory_bytes)) : ""},
       {"clocks while measuring", range_of(telemetry.clocks, "MHz")},
       {"temperature", range_of(telemetry.temperatures, "\u00b0C")},
       {"power", range_of(telemetry.powers, "W")},
       {"compiler", compilers.text()},
       {"host", hosts.text()},
       {"measured", when}});
}

std::string command_block(const std::vector<std::string>& words) {
  return fmt::format("<pre tabindex=\"0\"><code>{}</code></pre>\n", plot::escaped(base::command_line(words)));
}

std::string spec_text(const spec::Spec& spec) {
  if (!spec.text || spec.text->empty()) return "";
  std::string text = spec.text->substr(0, longest_spec);
  const bool cut = text.size() < spec.text->size();
  return fmt::format("<details><summary>Spec {}</summary><pre tabindex=\"0\"><code>{}</code></pre>{}</details>\n",
                     plot::escaped(spec.path.filename().string()), plot::escaped(text),
                     cut ? paragraph("The rest of the spec is omitted.", "note") : "");
}

}  // namespace

std::string origin_section(const ReportData& data) {
  std::string text = heading(2, "Reproduce");
  if (data.run_command.empty())
    text += paragraph("A store does not hold the commands that filled it.", "note");
  else
    text += paragraph("This measures again what the store does not answer; --fresh measures all:") +
            command_block(data.run_command);
  if (data.command != data.run_command) text += paragraph("This wrote the report:") + command_block(data.command);
  std::vector<std::string> devices;
  std::set<const spec::Spec*> specs;
  for (const ReportCase& one : data.cases) {
    if (!one.records->empty() && std::find(devices.begin(), devices.end(), one.device.name) == devices.end()) {
      devices.push_back(one.device.name);
      text += device_facts_list(one, one.device.name);
    }
  }
  for (const ReportCase& one : data.cases)
    if (specs.insert(one.spec.get()).second) text += spec_text(*one.spec);
  return text;
}

}  // namespace xtune::report
