// Devices of other machines, which share no files with this one: a search that runs here, and measurements there. The
// Python package makes them of a concurrent.futures.Executor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "xtune/value.hpp"

namespace xtune {

class Tunable;
struct TuneSettings;

/// Devices of one kind. A run calls this on its own thread; exceptions end the run and leave tune().
class RemoteDevices {
 public:
  /// Configurations of one problem, to be measured by tune() there, in a store that only this batch has.
  struct Batch {
    std::uint64_t id = 0;           ///< unique in this process
    Bindings problem;               ///< with all its sizes
    std::vector<Bindings> configs;  ///< TuneSettings::configs
    bool finals = false;            ///< TuneSettings::compare
  };
  /// What came back of a batch, or of a part of it.
  struct Answer {
    std::uint64_t batch = 0;           ///< its id
    std::vector<std::size_t> configs;  ///< which of the batch's; those of finals come back together
    std::string records;               ///< the record files of that store, one after the other
    std::filesystem::path artifacts;   ///< the rest of that store, which may go with the next call; empty: nothing
    std::string lost;                  ///< why configurations without a record have none
  };
  virtual ~RemoteDevices() = default;
  virtual std::string target() = 0;           ///< the text of describe_target() there
  virtual std::size_t parallel() const = 0;   ///< useful number of batches at once
  virtual void send(const Batch& batch) = 0;  ///< returns soon
  virtual std::vector<Answer> answers() = 0;  ///< since the last call, which is a moment ago
  virtual void cancel_all() = 0;              ///< answers to earlier batches are ignored from now on
};

/// The device and the compiler that tune() would use here, as text for RemoteDevices::target.
struct DescribedTarget {
  std::string kind;  ///< for people; results of different kinds are never compared in one search
  std::string text;  ///< for target()
};
/// Throws Error as tune().
DescribedTarget describe_target(const Tunable& tunable, const TuneSettings& settings);

/// A spec and the files that it names, for another machine.
struct PackedSpec {
  std::string spec;                          ///< the spec's name among the files
  std::map<std::string, std::string> files;  ///< contents by relative path
};
/// path: of a spec, or the name of a kernel that comes with xtune. Throws Error(unsupported) for a spec that cannot be
/// read from another place, because its paths are absolute, and for programs.
PackedSpec pack_spec(const std::filesystem::path& path);

}  // namespace xtune
