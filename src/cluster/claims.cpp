// Heartbeats and links.
//
// Processes of one job share nothing but a directory, often on NFS or Lustre, where locks are missing or unreliable.
// What every such filesystem offers is an atomic hard link: link() to a name that exists fails for all processes but
// one (RFC 1813, section 3.3.15). A claim is thus a link to its owner's heartbeat file, and reading the claim yields
// the owner's state without a second file. Where hard links are refused, O_EXCL creates the claim instead.
//
// A claim is never deleted, since deletion races with new claims. If its owner dies, the next process takes generation
// n + 1 of the same name; the largest generation counts. An owner is dead if it reported its end, if its process no
// longer exists on this host, or if its heartbeat has not changed for lease_s by the reader's own clock: clocks of
// nodes differ, so time stamps are never compared between hosts.
//
// A dead owner may have finished and stored the work that it claimed. Its claims are given away only once its records
// have been read, as many as its last heartbeat reported, or after patience_s: an NFS client may show new directory
// entries up to 60 s late (acdirmax in nfs(5)), hence 90.
#include "cluster/claims.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <sstream>
#include <utility>

#include "base/hash.hpp"
#include "base/text.hpp"
#include "core/store/record_log.hpp"
#include "system/files.hpp"
#include "system/processes.hpp"
#include "system/trust.hpp"
#include "xtune/error.hpp"

namespace xtune::cluster {
namespace {

namespace fs = std::filesystem;

constexpr const char* ended = "ended";

// The host, for processes whose ids can be checked from here.
std::string host_component() { return store::path_component(system::host_name() + "-" + system::pid_scope()); }

[[noreturn]] void fail(const std::string& doing, const fs::path& path, int error) {
  throw Error(ErrorKind::io, fmt::format("cannot {} {}: {}; processes of one job share their work there, and "
                                         "XTUNE_STUDY=off makes them work each on its own",
                                         doing, base::printable(path.string()), std::strerror(error)));
}

std::string first_word(const std::string& text) { return text.substr(0, text.find(' ')); }

struct Heartbeat {
  std::string owner, host, beat;
  pid_t pid = 0;
  std::uint64_t records = 0;
};

/// nullopt: incomplete or missing.
std::optional<Heartbeat> read_heartbeat(const std::string& text) {
  std::istringstream words(text);
  Heartbeat read;
  if (!(words >> read.owner >> read.host >> read.pid >> read.beat >> read.records)) return std::nullopt;
  return read;
}

/// Whether its process is certainly gone: it reported its end, or it ran on this host and no longer exists.
bool is_gone(const Heartbeat& read) {
  return read.beat == ended || (read.host == host_component() && system::process_is_gone(read.pid));
}

}  // namespace

Claims::Claims(fs::path folder, std::string owner, system::Clock& clock, Options options)
    : folder_(std::move(folder)), owner_(std::move(owner)), clock_(clock), options_(options) {
  std::error_code error;
  for (const char* part : {"ranks", "claims"}) {
    error = system::make_directories(folder_ / part);
    if (error) fail("make the directory", folder_ / part, error.value());
  }
  own_ = folder_ / "ranks" / store::path_component(owner_);
  fd_ = ::open(own_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  if (fd_ < 0) fail("create", own_, errno);
  const std::string text = line();
  if (::pwrite(fd_, text.data(), text.size(), 0) != static_cast<ssize_t>(text.size()) ||
      (::fdatasync(fd_) != 0 && errno != EINVAL)) {  // claims are links to it, which other processes read at once
    const int reason = errno;
    ::close(fd_);
    fs::remove(own_, error);
    fail("write", own_, reason);
  }
}

Claims::~Claims() {
  end();
  ::close(fd_);
}

void Claims::end() noexcept {
  if (std::exchange(ended_, true)) return;
  try {
    // In place, because links refer to this file. A line of the same length, so that no reader sees half of two.
    const std::string text = heartbeat(ended);
    [[maybe_unused]] const ssize_t written = ::pwrite(fd_, text.data(), text.size(), 0);
  } catch (const std::bad_alloc&) {  // the claims then end with the process
  }
}

std::string Claims::line() const { return heartbeat(fmt::format("{:012}", beats_)); }

/// beat: up to 12 characters.
std::string Claims::heartbeat(const std::string& beat) const {
  return fmt::format("{} {} {} {:12} {:012}\n", owner_, host_component(), getpid(), beat, stored_);
}

void Claims::beat() noexcept {
  if (ended_) return;
  try {
    ++beats_;
    const std::string text = line();
    [[maybe_unused]] const ssize_t written = ::pwrite(fd_, text.data(), text.size(), 0);
    ::fdatasync(fd_);                // else an NFS client may buffer it for half a minute
  } catch (const std::bad_alloc&) {  // the next beat may succeed
  }
}

void Claims::have_read(const std::string& owner, std::uint64_t records) {
  if (std::exchange(read_of_[owner], records) >= records) return;
  const std::int64_t now = clock_.now_ns();
  Sight& sight = sights_.try_emplace(owner, Sight{"", now, now}).first->second;
  sight.changed_ns = sight.looked_ns = now;
}

bool Claims::try_link(const fs::path& claim) {
  if (::link(own_.c_str(), claim.c_str()) == 0) return true;
  if (errno == EEXIST) return false;
  if (errno != EPERM && errno != EOPNOTSUPP && errno != ENOSYS && errno != EMLINK && errno != EXDEV)
    fail("link", claim, errno);
  const int file = ::open(claim.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  if (file < 0 && errno == EEXIST) return false;
  if (file < 0) fail("create", claim, errno);
  const std::string text = line();
  const ssize_t written = ::write(file, text.data(), text.size());
  const int reason = written < 0 ? errno : ENOSPC;
  ::close(file);
  if (written == static_cast<ssize_t>(text.size())) return true;
  fail("write", claim, reason);
}

namespace {

// A record's key may have any length and characters.
std::string claim_stem(const std::string& name) { return base::sha256(name).substr(0, 40); }

}  // namespace

bool Claims::is_taken(const std::string& name) const noexcept try {
  std::error_code ignored;
  return fs::exists(folder_ / "claims" / (claim_stem(name) + ".0"), ignored);
} catch (const std::bad_alloc&) {
  return false;
}

bool Claims::take(const std::string& name) {
  Known& known = known_[name];
  if (known.owner == owner_) return true;
  const std::string stem = claim_stem(name);
  for (;; ++known.generation, known.owner.clear()) {
    const fs::path claim = folder_ / "claims" / fmt::format("{}.{}", stem, known.generation);
    if (known.owner.empty()) {
      if (try_link(claim)) {
        known.owner = owner_;
        return true;
      }
      known.owner = first_word(system::read_if_there(claim));
      if (known.owner == owner_) return true;
    }
    // Without hard links it may have been created and not written yet; one that stays empty has no owner.
    if (!has_left(known.owner.empty() ? "?" + stem : known.owner)) return false;
  }
}

/// Whether it is dead, and its records have been read since that was found out.
bool Claims::has_left(const std::string& owner) {
  const std::int64_t now = clock_.now_ns();
  const auto [found, is_new] = sights_.try_emplace(owner, Sight{"", now, now});
  Sight& sight = found->second;
  if (sight.dead_at) {
    const auto read = read_of_.find(owner);
    const bool has_all = sight.records <= (read == read_of_.end() ? 0 : read->second);
    return reads_ > *sight.dead_at &&
           (has_all || static_cast<double>(now - sight.dead_since_ns) > options_.patience_s * 1e9);
  }
  if (!is_new && static_cast<double>(now - sight.looked_ns) < options_.look_s * 1e9) return false;
  sight.looked_ns = now;
  // Opened again each time, so that NFS asks its server (close-to-open consistency).
  const std::string text = system::read_if_there(folder_ / "ranks" / store::path_component(owner));
  if (text != sight.text) {
    sight.text = text;
    sight.changed_ns = now;
  }
  const std::optional<Heartbeat> read = read_heartbeat(text);
  if ((read && is_gone(*read)) || static_cast<double>(now - sight.changed_ns) > options_.lease_s * 1e9) {
    sight.dead_at = reads_;
    sight.dead_since_ns = now;
    sight.records = read ? read->records : 0;
  }
  return false;
}

std::set<std::string> Claims::owners() const {
  std::set<std::string> names;
  std::error_code error;
  fs::directory_iterator entries(folder_ / "ranks", error);
  for (; !error && entries != fs::directory_iterator(); entries.increment(error))
    if (const auto name = store::name_of_component(entries->path().filename().string())) names.insert(*name);
  if (error) fail("list", folder_ / "ranks", error.value());
  return names;
}

}  // namespace xtune::cluster
