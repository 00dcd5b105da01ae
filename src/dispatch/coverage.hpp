// The log of the problems that an application's calls had, for `xtune coverage`. Format: docs/record-format.md.
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

}  // namespace xtune::dispatch
