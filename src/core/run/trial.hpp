// One configuration on the way to its record, and the device that measures it.
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
    settle,     ///< lost a race against another best than today's: is measured in full
    drift,      ///< the incumbent, measured once more
    calibrate,  ///< one that passed before, measured in full to compare devices
    finalist,   ///< measured in finals
  };
  Purpose purpose = Purpose::search;
  SearchPath::Proposal proposal;
  space::Config config;
  device::LaunchPlan launch;
  build::CompileRequest request;
  build::Artifact artifact;
  record::Record record;
  build::Lack lack = build::Lack::none;  ///< resource that the machine lacked: its record is not stored
  /// settle: the index of the pruned record in TuneResult::records; unset: the pruned result is a row of the store.
  std::optional<std::size_t> replaces;
};
using TrialPtr = std::shared_ptr<Trial>;

/// The work of the workers for a run so far.
struct WorkerTotals {
  std::uint64_t answers = 0;  ///< of compilers, devices and other processes
  double device_busy_s = 0;   ///< as TuneResult
  double compile_cpu_s = 0;   ///< as TuneResult
  double compile_wall_s = 0;  ///< as TuneResult
};

/// Fills the trial's record from a bench worker's answer: all except key, configuration and the compiler's report.
void fill_record(record::Record& record, const Trial& trial, const device::DeviceInfo& device,
                 const ipc::BenchAnswer& answer);

}  // namespace xtune::run
