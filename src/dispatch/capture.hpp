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

/// Restricts a spec's space for a problem on a device.
using Narrow = std::function<void(spec::Spec&, const Bindings& problem, const Bindings& device_facts)>;

struct CapturedLaunch;

/// Captures each problem once, up to XTUNE_CAPTURE_COUNT (8) problems of a kernel in a process and XTUNE_CAPTURE_MB
/// (1024) of data, to XTUNE_CAPTURE_DIR (./xtune-capture). Thread-safe. Failures are reported, and the launch
/// continues.
class Capture {
 public:
  /// nullptr if XTUNE_CAPTURE, a list of patterns as in a shell ("gemm*,reduction"), does not match the kernel. narrow:
  /// restrictions of the spec's space for a problem in addition to its text; may be empty.
  static std::unique_ptr<Capture> from_environment(const spec::Spec& spec, const ArgumentPlan& plan, Narrow narrow,
                                                   std::function<void(const std::string&)> say);

  /// Launches; if this launch is captured, also waits for the stream before and after. Returns the result of launch.
  int around(backend::Runtime& runtime, void* stream, const void* const* values,
             const std::function<Bindings()>& problem, const std::function<int()>& launch) noexcept;

 private:
  Capture(const spec::Spec& spec, const ArgumentPlan& plan, Narrow narrow, std::function<void(const std::string&)> say);
  bool wants(const Bindings& problem, const std::vector<std::uint64_t>& bytes);
  void read_all(backend::Runtime& runtime, void* stream, const void* const* values,
                const std::vector<std::uint64_t>& bytes, bool after, std::vector<std::string>& into) const;
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
