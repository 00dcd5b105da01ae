// The part of a run that the devices of other machines do.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "core/run/run_context.hpp"
#include "core/store/record.hpp"
#include "system/event_loop.hpp"
#include "xtune/remote.hpp"

namespace xtune::run {

struct RunParts;

/// Configurations go there in batches, in the place of compilers and devices here, and come back as records. Each is
/// measured in full, without a race. A configuration that is lost is crashed in this run, and not stored.
class RemoteWork {
 public:
  RemoteWork(RunParts& run, RemoteDevices& devices);

  void add(const TrialPtr& trial) { waiting_.push_back(trial); }
  bool room() const;
  /// Divides what waits among the devices that are free.
  void send();
  /// FinalsPhase::take gets them all.
  void hold_finals(const std::vector<TrialPtr>& finalists) { send(finalists, true); }
  std::size_t trials() const noexcept { return waiting_.size() + sent_; }
  void cancel_all();

 private:
  struct Batch {
    std::vector<TrialPtr> trials;
    bool finals = false;
    std::size_t left = 0;  ///< number of trials without an answer
  };
  void send(std::vector<TrialPtr> trials, bool finals);
  void look_later();
  void take(const RemoteDevices::Answer& answer);
  bool fill(Trial& trial, const std::vector<store::Record>& records, bool finals) const;
  void keep_artifacts(const std::filesystem::path& from);

  RunParts& run_;
  RemoteDevices& devices_;
  std::deque<TrialPtr> waiting_;
  std::map<std::uint64_t, Batch> batches_;  ///< by id
  std::size_t sent_ = 0;                    ///< trials in batches_ without an answer
  bool warned_of_artifacts_ = false;
  system::EventLoop::Watch next_look_;
};

}  // namespace xtune::run
