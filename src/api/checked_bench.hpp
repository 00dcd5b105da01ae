// A check in code, called for every configuration that passed all other checks.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "ipc/services.hpp"
#include "xtune/data.hpp"

namespace xtune {

/// A buffer argument of one problem, with contents if it is an input.
struct PreparedBuffer {
  validate::ArgumentLayout layout;
  std::vector<std::byte> contents;
};

/// The arguments for callbacks from these buffers, which must outlive them.
Arguments inputs_of(const std::vector<PreparedBuffer>& buffers, const Bindings& problem);

/// The data for checking outputs.
struct OutputCheck {
  std::function<bool(const Arguments&)> holds;
  std::vector<PreparedBuffer> buffers;  ///< in kernel order
  Bindings problem;
};

/// Another service, whose answers stay ok or pruned only if the check passes too: false, or an exception (its text is
/// the message), means a wrong result. It checks the first launch, the one after the measured launches, and the one
/// after rounds. Outputs are exchanged through files in `folder`, which must not be used by another service.
class CheckedBenchService final : public ipc::BenchService {
 public:
  /// config_of: returns the configuration of a job.
  CheckedBenchService(ipc::BenchService& service, const OutputCheck& check, std::filesystem::path folder);
  void set_problem(ipc::Problem problem) override;
  void prepare() override { service_.prepare(); }
  void bench(const ipc::BenchJob& job, double timeout_s, Callback callback) override;
  void measure_rounds(const ipc::RoundsJob& job, double timeout_s, RoundsCallback callback) override;
  void cancel_all() override { service_.cancel_all(); }

 private:
  /// What is wrong with the outputs of that launch; empty: nothing.
  std::string complaint(const ipc::BenchJob& job, const std::string& launch) const;
  std::string late_complaint(const ipc::BenchJob& job, const std::string& launch) const;
  ipc::BenchService& service_;
  const OutputCheck& check_;
  std::filesystem::path folder_;
};

}  // namespace xtune
