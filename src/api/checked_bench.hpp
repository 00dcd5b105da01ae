// A check in code, asked of every configuration that passed all others.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "ipc/services.hpp"
#include "xtune/data.hpp"

namespace xtune {

/// A buffer argument of one problem; contents where it is an input.
struct PreparedBuffer {
  validate::ArgumentLayout layout;
  std::vector<std::byte> contents;
};

/// What callbacks see of these buffers, which outlive it.
Arguments inputs_of(const std::vector<PreparedBuffer>& buffers, const Bindings& problem);

/// What the outputs are checked by.
struct OutputCheck {
  std::function<bool(const Arguments&)> holds;
  std::vector<PreparedBuffer> buffers;  ///< in kernel order
  Bindings problem;
};

/// Another service, whose answers are ok or pruned only where the check holds too: false, or an exception (its text is
/// the message), is a wrong result: of the first launch, of the one after the measured launches, and of the one after
/// rounds. Outputs come through files in `folder`, which no other service uses.
class CheckedBenchService final : public ipc::BenchService {
 public:
  /// config_of: which configuration a job is of.
  CheckedBenchService(ipc::BenchService& service, const OutputCheck& check, std::filesystem::path folder);
  void set_problem(ipc::OpenJob job) override;
  void prepare() override { service_.prepare(); }
  void bench(const ipc::BenchJob& job, double timeout_s, Callback callback) override;
  void measure_rounds(const ipc::RoundsJob& job, double timeout_s, RoundsCallback callback) override;
  void cancel_all() override { service_.cancel_all(); }

 private:
  /// What is wrong with what that launch left; empty: nothing.
  std::string complaint(const ipc::BenchJob& job, const std::string& launch) const;
  std::string late_complaint(const ipc::BenchJob& job, const std::string& launch) const;
  ipc::BenchService& service_;
  const OutputCheck& check_;
  std::filesystem::path folder_;
};

}  // namespace xtune
