// Who does what: claims of processes that share nothing but a folder, on a filesystem that may have no locks.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>

#include "base/clock.hpp"

namespace xtune::cluster {

/// A claim is a hard link to its owner's heartbeat file: link() succeeds for one process alone, on NFS too (RFC 1813,
/// section 3.3.15). An owner whose heart has not beaten for lease_s, that has ended, or whose process is gone from this
/// host loses its claims: what it had claimed it may have done, so to whoever has read what it stored since it was
/// found so, and as many records as it told of at last. A filesystem may show them late (of NFS, a minute is the
/// default for folders). Where there are no hard links a claim is a file made with O_EXCL.
///
/// <folder>/ranks/<owner>            "owner host pid beat records", rewritten every few seconds
/// <folder>/claims/<name>.<n>        of the n-th owner; the largest n counts
class Claims {
 public:
  struct Options {
    double lease_s = 30;     ///< without a heartbeat
    double look_s = 1;       ///< an owner's heartbeat is read no more often
    double patience_s = 90;  ///< with records that an owner told of and that nobody finds
  };
  /// owner: no other process' (an attempt's id). Makes the folder and the first heartbeat. Throws Error(io).
  Claims(std::filesystem::path folder, std::string owner, base::Clock& clock, Options options);
  Claims(std::filesystem::path folder, std::string owner, base::Clock& clock)
      : Claims(std::move(folder), std::move(owner), clock, Options()) {}
  /// Ends them, unless the process does first, which comes to the same.
  ~Claims();
  Claims(const Claims&) = delete;
  Claims& operator=(const Claims&) = delete;

  /// Whether it is ours, now or since before. Throws Error(io).
  bool take(const std::string& name);
  /// Whether anybody has it, or had it. Throws nothing: where that cannot be told, nobody has.
  bool is_taken(const std::string& name) const noexcept;
  /// To be called before what others wrote is read, all of it: until then nothing of an owner that was found dead is
  /// given away.
  void about_to_read() noexcept { ++reads_; }
  /// So many records of that owner's have been read, since the beginning.
  void have_read(const std::string& owner, std::uint64_t records) { read_of_[owner] = records; }
  /// One more record of this owner's lies in the store; the others hear of it at the next beat, or at the end.
  void have_stored_one() noexcept { ++stored_; }
  /// To be called every few seconds. A filesystem that refuses it costs claims, later, and no exception.
  void beat() noexcept;
  /// Gives up all of them; nothing is to be taken any more.
  void end() noexcept;
  /// All that ever took part, this one too. Reads a folder. Throws Error(io).
  std::set<std::string> owners() const;

 private:
  struct Sight {
    std::string text;         ///< of the heartbeat, as it was last
    std::int64_t changed_ns;  ///< when it was seen to be another, by this process' clock
    std::int64_t looked_ns;
    std::optional<std::uint64_t> dead_at = {};  ///< reads_ when it was found dead
    std::int64_t dead_since_ns = 0;
    std::uint64_t records = 0;  ///< records, at its last beat
  };
  bool try_link(const std::filesystem::path& claim);
  bool has_left(const std::string& owner);
  std::string line() const;
  std::string heartbeat(const std::string& beat) const;

  std::filesystem::path folder_, own_;
  std::string owner_;
  base::Clock& clock_;
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
