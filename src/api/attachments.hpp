// Data, references and checks in code: prepared for one problem, and called for its configurations.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "core/spec/spec.hpp"
#include "worker/ipc/services.hpp"
#include "worker/ipc/target.hpp"
#include "xtune/data.hpp"
#include "xtune/tunable.hpp"

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
class CheckedBenchService final : public run::BenchService {
 public:
  CheckedBenchService(run::BenchService& service, const OutputCheck& check, std::filesystem::path folder);
  void set_problem(run::Problem problem) override;
  void prepare() override { service_.prepare(); }
  void bench(const run::BenchJob& job, double timeout_s, Callback callback) override;
  void measure_rounds(const run::RoundsJob& job, double timeout_s, RoundsCallback callback) override;
  void cancel_all() override { service_.cancel_all(); }

 private:
  /// What is wrong with the outputs of that launch; empty: nothing.
  std::string complaint(const run::BenchJob& job, const std::string& launch) const;
  std::string late_complaint(const run::BenchJob& job, const std::string& launch) const;
  run::BenchService& service_;
  const OutputCheck& check_;
  std::filesystem::path folder_;
};

/// Writes the data that is attached to arguments as .npy files into the run's scratch directory and names them in the
/// spec; runs the reference in code and stores its outputs there; and returns the data for a check in code (empty
/// without one). Throws Error(invalid_argument) for data of another size or type than its argument, for a pointer that
/// cannot be read, for device pointers with more than max_copy_bytes, and for a reference that throws or does not match
/// the outputs.
OutputCheck prepare_attachments(const Tunable& tunable, spec::Spec& spec, const Bindings& problem,
                                const run::Target& target, const std::filesystem::path& scratch,
                                std::uint64_t max_copy_bytes);

}  // namespace xtune
