// Fuzz target: an import is refused with an Error, or reads back unchanged.
#include <cstdlib>
#include <string>

#include "core/spec/spec.hpp"
#include "core/store/record_log.hpp"
#include "lab/formats.hpp"
#include "xtune/error.hpp"

using namespace xtune::store;
using namespace xtune::lab;
using namespace xtune::spec;

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

void check(const xtune::lab::Recording& recording) {
  using namespace xtune;
  require(recording.configs.size() == recording.space.size() && recording.space.size() > 0);
  for (const RecordedConfig& config : recording.configs)
    require(config.outcome != Outcome::ok || (measure::is_time(config.time_ms) && !config.samples_ms.empty()));
  ImportedTexts texts;
  try {
    texts = import_texts(recording, "fuzz", "fuzz.json");
  } catch (const Error&) {
    return;
  }
  const auto rows = parse_configs(texts.configs, "fuzz.configs.csv", recording.space.parameters());
  require(rows.size() == recording.space.size());
  const RecordSet records = parse_records("fuzz.jsonl", texts.records);
  require(records.records.size() == rows.size() && records.warnings.empty());
  const std::vector<Recording> again = recordings_of(records, "fuzz.jsonl", Statistic::mean);
  require(again.size() == 1 && again.front().space.size() == rows.size());
  require(again.front().valid() == recording.valid());
  map_observations(recording, again.front().space);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace xtune;
  const std::string text(reinterpret_cast<const char*>(data), size);
  try {
    if (text.substr(0, text.find('\n')).find("\"xtune_records\"") != std::string::npos) {
      for (const Recording& recording : recordings_of(parse_records("fuzz", text), "fuzz", Statistic::median))
        check(recording);
    } else {
      check(read_kernel_tuner(text, "fuzz"));
    }
  } catch (const Error&) {
  }
  return 0;
}
