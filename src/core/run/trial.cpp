// Fills a record from a bench worker's answer.
#include "core/run/trial.hpp"

#include "base/text.hpp"

namespace xtune::run {
namespace {

// Enough for the last messages of a program; a record is one line of a file that is read completely.
constexpr std::size_t max_log_bytes = 2048;

}  // namespace

void fill_record(record::Record& record, const Trial& trial, const device::DeviceInfo& device,
                 const ipc::BenchAnswer& answer) {
  record.device = device;
  record.outcome = answer.outcome;
  const bool timed = answer.outcome == Outcome::ok || answer.outcome == Outcome::pruned;
  record.stage = timed ? "measure" : answer.stage;
  record.message = answer.message;
  if (!timed) record.log = base::end_of(answer.log, max_log_bytes);
  record.reported = answer.reported;
  record.samples_ms = answer.samples_ms;
  record.tainted = answer.taints;
  record.dynamic_shared_bytes = trial.launch.max_shared_bytes();
  record.validation = answer.validation;
  record.repeatable = answer.repeatable;
  record.telemetry = answer.telemetry;
  record.bench_s = answer.busy_s;
  if (timed) record.time_ms = measure::summarize(record.samples_ms);
}

}  // namespace xtune::run
