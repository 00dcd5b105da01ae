// The log of a kernel's problems for `xtune coverage`: written by applications, read by the program. Format:
// docs/record-format.md.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "core/device/device_info.hpp"
#include "xtune/kernel.hpp"

namespace xtune::dispatch {

/// The kernel of a log.
struct CoveredKernel {
  std::string name;
  std::filesystem::path spec;  ///< absolute; empty: built in code, or in a bundle
  Bindings defines;            ///< with which the spec was loaded
};

/// Appends to a file that other threads and processes may append to as well: a line for each problem when it is first
/// prepared or its answer changes, and its number of calls later: when other problems are prepared, at most once a
/// second, and at the end of the kernel or the process. So a crash loses only calls. Thread-safe. Failures are reported
/// once, and the application continues.
class Coverage {
 public:
  using Counter = std::atomic<std::uint64_t>;

  /// given: LoadSettings::coverage; empty: XTUNE_COVERAGE. In a directory each process has its own file. nullptr: no
  /// log is requested.
  static std::unique_ptr<Coverage> open(const std::filesystem::path& given, CoveredKernel kernel,
                                        std::function<void(const std::string&)> say);
  ~Coverage();
  Coverage(const Coverage&) = delete;
  Coverage& operator=(const Coverage&) = delete;

  /// The counter for calls of this problem on this kind of device, which exists as long as this object; the same for
  /// the same problem. nullptr: there are too many problems to count. refusal: not empty: why calls are errors.
  Counter* add(const Bindings& problem, const device::DeviceInfo& device, const Choice& choice,
               const std::string& refusal);
  /// Writes the numbers of calls that have changed.
  void flush() noexcept;

 private:
  struct Entry {
    Counter calls{0};
    std::uint64_t written = 0;
    std::string answer;  ///< its last line, without the time
  };
  using Key = std::pair<std::pair<std::string, std::string>, Bindings>;  ///< architecture, device, problem

  Coverage(std::filesystem::path file, CoveredKernel kernel, std::function<void(const std::string&)> say);
  void write(const std::string& lines) noexcept;
  void flush_locked();

  const std::filesystem::path file_;
  const CoveredKernel kernel_;
  const std::function<void(const std::string&)> say_;
  std::string process_;
  int pid_, fd_ = -1;
  std::mutex mutex_;
  std::int64_t flushed_ns_ = 0;
  bool told_ = false;
  std::map<Key, Entry> entries_;
};

/// A problem of a kernel on a kind of device, over all processes of the logs.
struct CoveredProblem {
  std::string kernel, arch, device;
  std::filesystem::path spec;  ///< empty: unknown
  Bindings defines, problem, config, measured_for;
  Choice::Kind kind = Choice::Kind::none;  ///< of the newest answer
  double distance = 0;                     ///< to the problem of the measurement
  bool stale = false;                      ///< measured with another driver
  std::string refusal;                     ///< not empty: calls were errors
  std::uint64_t calls = 0;                 ///< as far as they were logged: a crash loses some
};
/// Orders by the kind of answer, refusals first and exact ones last, then by calls times distance.
bool is_worse(const CoveredProblem& a, const CoveredProblem& b);

/// Files, and directories whose *.jsonl files are logs. The worst problem comes first. Lines that are torn or damaged,
/// and files without any line of a log, give a warning. Throws Error(invalid_argument) for a path that does not exist,
/// Error(io) for a file that cannot be read.
std::vector<CoveredProblem> read_coverage(const std::vector<std::filesystem::path>& paths,
                                          std::vector<std::string>& warnings);

/// A suite (docs/cluster.md) with these problems as cases, in their order; empty without problems. specs: a spec for
/// each kernel, in place of the one in the log. Problems of kernels without a spec are omitted with a warning.
std::string coverage_suite(const std::vector<CoveredProblem>& problems,
                           const std::map<std::string, std::filesystem::path>& specs,
                           std::vector<std::string>& warnings);

}  // namespace xtune::dispatch
