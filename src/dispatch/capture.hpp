// Writes real launches as specs with their data, for XTUNE_CAPTURE.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "backends/runtime.hpp"
#include "dispatch/arguments.hpp"

namespace xtune::dispatch {

/// Narrows a spec's space for a problem on a device.
using Narrow = std::function<void(spec::Spec&, const Bindings& problem, const Bindings& device_facts)>;

/// What a captured launch was: the problem, the arguments' bytes before it, and those of outputs after it.
struct CapturedLaunch {
  Bindings problem;
  std::vector<std::string> before;  ///< of each passed argument; empty for outputs
  std::vector<std::string> after;   ///< empty for all but what the kernel writes
};

/// Writes spec.toml, the source with what it includes and the .npy files into the folder, the spec last. Nothing in it
/// names a place outside of it. Throws Error.
void write_capture(const std::filesystem::path& folder, const spec::Spec& spec, const ArgumentPlan& plan,
                   const device::DeviceInfo& device, const CapturedLaunch& launch);

/// Each problem once, at most XTUNE_CAPTURE_COUNT (8) of a kernel in a process and XTUNE_CAPTURE_MB (1024) of data,
/// in XTUNE_CAPTURE_DIR (./xtune-capture). Thread-safe. Whatever fails is said, and the launch goes on.
class Capture {
 public:
  /// nullptr where XTUNE_CAPTURE, a list of patterns as a shell has them ("gemm*,reduction"), does not name the kernel.
  /// narrow: what limits the spec's space for a problem besides its text; may be empty.
  static std::unique_ptr<Capture> from_environment(const spec::Spec& spec, const ArgumentPlan& plan, Narrow narrow,
                                                   std::function<void(const std::string&)> say);

  /// Launches, and waits for the stream before and after where this launch is one to capture. Returns what launch does.
  int around(backend::Runtime& runtime, void* stream, const void* const* values,
             const std::function<Bindings()>& problem, const std::function<int()>& launch) noexcept;

 private:
  Capture(const spec::Spec& spec, const ArgumentPlan& plan, Narrow narrow, std::function<void(const std::string&)> say);
  bool wants(const Bindings& problem, const std::vector<std::uint64_t>& bytes);
  void read_all(backend::Runtime& runtime, void* stream, const void* const* values,
                const std::vector<std::uint64_t>& bytes, bool after, std::vector<std::string>& into) const;
  std::filesystem::path new_folder() const;
  void write(const device::DeviceInfo& device, const CapturedLaunch& launch);

  const spec::Spec& spec_;
  const ArgumentPlan& plan_;
  const Narrow narrow_;
  const std::function<void(const std::string&)> say_;
  std::filesystem::path folder_;
  std::uint64_t launches_left_, bytes_left_;
  std::mutex mutex_;
  std::set<Bindings> seen_;
};

}  // namespace xtune::dispatch
