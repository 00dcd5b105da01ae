// A search that several processes share: its directory, and what each process sees of the others.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "cluster/claims.hpp"
#include "cluster/launcher.hpp"
#include "core/run/services.hpp"
#include "core/store/record.hpp"
#include "system/event_loop.hpp"

namespace xtune::cluster {

/// The record files of one kernel on one architecture, by the attempts that write them. A line counts once it is
/// complete.
class RecordTail {
 public:
  RecordTail(std::filesystem::path store, std::string arch, std::string kernel);
  /// The complete lines that these attempts have appended since the last call; damaged lines are skipped, and files of
  /// a newer xtune from their header on. Throws Error(io) if an existing file cannot be read.
  std::vector<store::Record> read(const std::set<std::string>& attempts);
  /// Number of complete lines of each attempt so far, without headers, but with damaged ones.
  const std::map<std::string, std::uint64_t>& lines() const noexcept { return lines_; }

 private:
  struct File {
    std::uint64_t read_bytes = 0;
    bool newer = false;
  };
  std::filesystem::path store_;
  std::string arch_, kernel_;
  std::map<std::filesystem::path, File> files_;
  std::map<std::string, std::uint64_t> lines_;
};

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
  SharedStudy(system::EventLoop& loop, system::Clock& clock, const Place& place, const Rank& rank, std::string attempt);
  bool take(const std::string& name) override { return claims_.take(name); }
  void leave() noexcept override { claims_.end(); }
  void stored_one() noexcept override { claims_.have_stored_one(); }
  std::vector<store::Record> news() override;
  std::size_t size() const noexcept override { return size_; }
  std::size_t place() const noexcept override { return place_; }
  std::int64_t began_unix_ms() const noexcept override { return began_unix_ms_; }
  std::uint64_t look_every_ms() const noexcept override { return look_interval_ms(size_); }

 private:
  void beat_later();
  system::EventLoop& loop_;
  std::size_t size_, place_;
  std::int64_t began_unix_ms_;
  std::string attempt_;
  Claims claims_;
  RecordTail tail_;
  Bindings problem_;
  system::EventLoop::Watch heart_;
};

/// The directory of a study, which contains its claims.
std::filesystem::path study_folder(const std::filesystem::path& store, const std::string& study);

/// The contents of the file after the first call: the text of the first process, which all others get too. As with
/// claims, exactly one process succeeds in linking it; without hard links two that start at once may disagree. Creates
/// the directory. Throws Error(io).
std::string agree_on(const std::filesystem::path& file, const std::string& text);

/// The study that a process joins: the one of that name or, if another process has taken this place before, the first
/// free one of "name+2", "name+3" ...: a name that is used again belongs to another run, which measures again and gives
/// its own answer. place: identifies this process in the run. Creates <store>/studies/<study>/seats/<place>. Throws
/// Error(io).
std::string join_study(const std::filesystem::path& store, const std::string& study, const std::string& place);

/// Whether a study has that name, in any run.
bool is_run_of(const std::string& study, const std::string& name);

/// The first process of a component writes its device (`name` of `arch`), the others compare. Throws Error(unavailable)
/// if another type is already in use, Error(io) if the store cannot be written.
void require_one_device(const std::filesystem::path& store, const std::string& study, const std::string& component,
                        const std::string& name, const std::string& arch);

}  // namespace xtune::cluster
