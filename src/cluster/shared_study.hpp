// The processes of one job as peers, with claims and records in their common store.
#pragma once

#include <filesystem>
#include <memory>
#include <set>
#include <string>

#include "base/event_loop.hpp"
#include "cluster/claims.hpp"
#include "cluster/launcher.hpp"
#include "cluster/record_tail.hpp"
#include "core/run/peers.hpp"

namespace xtune::cluster {

/// The interval at which each process looks for news: all of them list the same directory and read as many files as
/// there are processes, which may take about 0.3 ms each.
std::uint64_t look_interval_ms(std::size_t processes) noexcept;

/// Uses <store>/studies/<study>/<arch>/<kernel>/<problem>. Its heartbeat runs on the loop, which must outlive it.
class SharedStudy final : public run::Peers {
 public:
  struct Place {
    std::filesystem::path store;
    std::string arch, kernel;
    Bindings problem;
  };
  /// attempt: that of the records that this process writes. Throws Error(io).
  SharedStudy(base::EventLoop& loop, base::Clock& clock, const Place& place, const Rank& rank, std::string attempt);
  bool take(const std::string& name) override { return claims_.take(name); }
  void leave() noexcept override { claims_.end(); }
  void stored_one() noexcept override { claims_.have_stored_one(); }
  std::vector<record::Record> news() override;
  std::size_t size() const noexcept override { return size_; }
  std::size_t place() const noexcept override { return place_; }
  std::int64_t began_unix_ms() const noexcept override { return began_unix_ms_; }
  std::uint64_t look_every_ms() const noexcept override { return look_interval_ms(size_); }

 private:
  void beat_later();
  base::EventLoop& loop_;
  std::size_t size_, place_;
  std::int64_t began_unix_ms_;
  std::string attempt_;
  Claims claims_;
  RecordTail tail_;
  Bindings problem_;
  base::EventLoop::Watch heart_;
};

/// The directory of a study, which contains its claims.
std::filesystem::path study_folder(const std::filesystem::path& store, const std::string& study);

}  // namespace xtune::cluster
