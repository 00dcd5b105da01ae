// One configuration on its way to a record, and the device that measures it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "core/device/device_info.hpp"
#include "core/measure/device.hpp"
#include "core/record/record.hpp"
#include "core/run/search_path.hpp"
#include "ipc/protocol.hpp"

namespace xtune::run {

struct Trial {
  enum class Purpose {
    search,     ///< proposed by the strategy
    settle,     ///< lost a race against another best than today's: measured in full
    drift,      ///< the incumbent once more
    calibrate,  ///< what passed before, in full, to compare devices
    finalist,   ///< to be measured in finals
  };
  Purpose purpose = Purpose::search;
  SearchPath::Proposal proposal;
  space::Config config;
  device::Launch launch;
  build::CompileRequest request;
  build::Artifact artifact;
  record::Record record;
  build::Lack lack = build::Lack::none;  ///< what the machine lacked: its record is not stored
  /// settle: the place of the pruned record in TuneResult::records; unset: the pruned result is a row of the store.
  std::optional<std::size_t> replaces;
};
using TrialPtr = std::shared_ptr<Trial>;

/// What workers have done for a run so far.
struct WorkerTotals {
  std::uint64_t answers = 0;  ///< of compilers, devices and other processes
  double device_busy_s = 0;   ///< as TuneResult
  double compile_cpu_s = 0;   ///< as TuneResult
  double compile_wall_s = 0;  ///< as TuneResult
};

/// What a bench worker answers, as the trial's record: all but key, configuration and what the compiler reported.
void fill_record(record::Record& record, const Trial& trial, const device::DeviceInfo& device,
                 const ipc::BenchAnswer& answer);

}  // namespace xtune::run
