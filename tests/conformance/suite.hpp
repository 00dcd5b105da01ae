// The conformance suite's frame: targets, exclusions, and the few steps from a kernel's text to its outputs.
#pragma once

#include <doctest/doctest.h>

#include <memory>
#include <string>
#include <vector>

#include "backends/backend.hpp"
#include "fakes/device_data.hpp"

namespace xtune::conformance {

/// A backend with an architecture to compile for; with a device when the architecture is the device's own.
struct Target {
  std::string backend, arch;
  build::Toolchain* toolchain;
  measure::Device* device;    ///< nullptr: the test's compile-only half runs
  std::string compiler = {};  ///< of several compilers of the backend, which one
  int index = 0;              ///< of the device
  bool first = false;         ///< of its compiler's targets
};

/// Every registered backend: its first device of each architecture, and the architectures for which it must compile
/// anywhere. Without an AMD GPU there are emulated ones. A backend whose compiler is not on this machine is skipped
/// with a message. Created once per process.
const std::vector<Target>& targets();

/// Which targets run a test.
enum class Scope {
  all,
  compiler,  ///< the first of each compiler: the test is about what does not depend on the architecture
};

/// Runs a test on its targets but the excluded ones (exclusions.def). Of emulated GPUs, a test runs on one with waves
/// of 64 lanes and one with waves of 32; with XTUNE_EMULATED_ALL=1 on each.
void on_each_target(const char* title, Scope scope, void (*test)(const Target&));

#define CONFORMANCE_PASTE2(a, b) a##b
#define CONFORMANCE_PASTE(a, b) CONFORMANCE_PASTE2(a, b)
#define CONFORMANCE_TEST_NAMED(name, title, scope)                               \
  static void name(const ::xtune::conformance::Target&);                         \
  TEST_CASE(title) { ::xtune::conformance::on_each_target(title, scope, name); } \
  static void name([[maybe_unused]] const ::xtune::conformance::Target& t)
/// A test with a `const Target& t`.
#define CONFORMANCE_TEST(title) \
  CONFORMANCE_TEST_NAMED(CONFORMANCE_PASTE(conformance_, __COUNTER__), title, ::xtune::conformance::Scope::all)
/// The same once for each compiler; with XTUNE_EMULATED_ALL=1 for each target.
#define COMPILER_TEST(title) \
  CONFORMANCE_TEST_NAMED(CONFORMANCE_PASTE(conformance_, __COUNTER__), title, ::xtune::conformance::Scope::compiler)

/// A request for this target that finds portable.cuh; the source is named "kernel.cu".
build::CompileRequest request_for(const Target& t, const std::string& source, const std::string& entry);
/// Compiles it; on failure the test fails with the log.
build::Artifact compile(const Target& t, const std::string& source, const std::string& entry);
build::Artifact compile(const Target& t, const build::CompileRequest& request);
/// The failure that this must end in; the test fails when it does not.
build::CandidateFailure failing_compile(const Target& t, const build::CompileRequest& request);

using fakes::download;
template <class T>
std::unique_ptr<measure::Buffer> upload(const Target& t, const std::vector<T>& values) {
  return fakes::upload(*t.device, values);
}

template <class T>
measure::KernelArgument argument(T value) {
  return fakes::scalar(value);
}
inline measure::KernelArgument argument(const std::unique_ptr<measure::Buffer>& buffer) { return buffer.get(); }

/// Arguments in kernel order, as an initialiser: arguments(a, b, 3).
template <class... A>
std::vector<measure::KernelArgument> arguments(const A&... values) {
  return {argument(values)...};
}

measure::Sample run(measure::Program& program, const std::vector<measure::KernelArgument>& values,
                    std::size_t flush_bytes = 0, bool timed = true);
/// Loads and runs once.
void run(const Target& t, const build::Artifact& artifact, const device::Launch& launch,
         const std::vector<measure::KernelArgument>& values);

/// The outcome of the CandidateFailure that this throws; ok when it throws none.
template <class Action>
Outcome outcome_of(const Action& action, std::string* message = nullptr) {
  try {
    action();
  } catch (const build::CandidateFailure& failure) {
    if (message) *message = failure.what();
    return failure.outcome();
  }
  return Outcome::ok;
}

}  // namespace xtune::conformance
