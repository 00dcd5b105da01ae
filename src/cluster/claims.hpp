// Distributes work by claims of processes that share only a directory, on a file system that may have no locks.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>

#include "system/clock.hpp"

namespace xtune::cluster {

/// A claim is a hard link to its owner's heartbeat file: link() succeeds for exactly one process, on NFS too (RFC 1813,
/// section 3.3.15). An owner loses its claims if its heartbeat has not changed for lease_s, it has ended, or its
/// process no longer exists on this host. The owner may have done the claimed work, so its claims go to a process that
/// has read its records since then, as many as its last heartbeat reported. A file system may show them late (on NFS,
/// by default up to a minute for directories). Without hard links a claim is a file created with O_EXCL.
///
/// <folder>/ranks/<owner>            "owner host pid beat records", rewritten every few seconds
/// <folder>/claims/<name>.<n>        by the n-th owner; the largest n counts
class Claims {
 public:
  struct Options {
    double lease_s = 30;     ///< without a heartbeat
    double look_s = 1;       ///< minimum interval between two reads of an owner's heartbeat
    double patience_s = 90;  ///< wait for reported records that cannot be found
  };
  /// owner: unique among processes (an attempt's id). Creates the directory and the first heartbeat. Throws Error(io).
  Claims(std::filesystem::path folder, std::string owner, system::Clock& clock, Options options);
  Claims(std::filesystem::path folder, std::string owner, system::Clock& clock)
      : Claims(std::move(folder), std::move(owner), clock, Options()) {}
  /// Ends the claims; the end of the process has the same effect.
  ~Claims();
  Claims(const Claims&) = delete;
  Claims& operator=(const Claims&) = delete;

  /// Whether this process has the claim, now or since before. Throws Error(io).
  bool take(const std::string& name);
  /// Whether any process has or had the claim. Throws nothing: false if this cannot be determined.
  bool is_taken(const std::string& name) const noexcept;
  /// Call it before reading all records of other processes: until then claims of an owner that was found dead are not
  /// given away.
  void about_to_read() noexcept { ++reads_; }
  /// `records` records of this owner have been read, since the beginning. More than before are as good as a heartbeat.
  void have_read(const std::string& owner, std::uint64_t records);
  /// One more record of this process is in the store; the other processes learn of it at the next beat, or at the end.
  void have_stored_one() noexcept { ++stored_; }
  /// Call it every few seconds. If the file system refuses it, claims are lost later, but there is no exception.
  void beat() noexcept;
  /// Gives up all claims; do not take any afterwards.
  void end() noexcept;
  /// All processes that have ever taken part, including this one. Reads a directory. Throws Error(io).
  std::set<std::string> owners() const;

 private:
  struct Sight {
    std::string text;         ///< last contents of the heartbeat
    std::int64_t changed_ns;  ///< when a change was last seen, by this process's clock
    std::int64_t looked_ns;
    std::optional<std::uint64_t> dead_at = {};  ///< reads_ when it was found dead
    std::int64_t dead_since_ns = 0;
    std::uint64_t records = 0;  ///< number of records at its last beat
  };
  bool try_link(const std::filesystem::path& claim);
  bool has_left(const std::string& owner);
  std::string line() const;
  std::string heartbeat(const std::string& beat) const;

  std::filesystem::path folder_, own_;
  std::string owner_;
  system::Clock& clock_;
  Options options_;
  int fd_ = -1;
  bool ended_ = false;
  std::uint64_t beats_ = 0, reads_ = 0, stored_ = 0;
  std::unordered_map<std::string, std::uint64_t> read_of_;
  std::unordered_map<std::string, Sight> sights_;
  struct Known {
    int generation = 0;
    std::string owner;  ///< of that generation; empty: not read yet
  };
  std::unordered_map<std::string, Known> known_;
};

}  // namespace xtune::cluster
