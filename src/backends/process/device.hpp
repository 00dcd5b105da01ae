// The device that runs programs: this machine, with the one accelerator that a program may see. A program is started
// for each run, or its configurations are requests to a server that stays.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/measure/device.hpp"

namespace xtune::process {

/// index: of the device that each program may see, as the driver numbers those that this process sees.
std::unique_ptr<measure::Device> make_device(int index);

/// The value of a variable such as CUDA_VISIBLE_DEVICES with which only the device of this index is visible; now: its
/// current value, nullptr if it is not set.
std::string visible_device(const char* now, int index);

/// Each run starts the call once; if there is a check, it follows the first run. device: index of the one device that
/// the program may see, if its call restricts this. Throws Error(io).
std::unique_ptr<measure::Program> load_program(const build::Artifact& artifact, const device::ProgramCall& call,
                                               int device);

class ServerSlot;

/// The servers of one device. Programs with the same command, environment and built program share a server; it ends
/// when no program uses it and another server is used. Single-threaded.
class ServedPrograms {
 public:
  /// device: index of the one device that the servers may see, if their call restricts this.
  explicit ServedPrograms(int device) : device_(device) {}

  /// A program whose samples are answers of a server to requests of `call`. A server starts with the first request,
  /// and again after one that it did not answer. The first and the last run are checked if call.checks. Throws
  /// Error(io). Its runs throw CandidateFailure, and Error(unavailable) if the servers of one command and built program
  /// fail three times in a row without any answer: they do not start, or do not follow the protocol.
  std::unique_ptr<measure::Program> load(const build::Artifact& artifact, const device::ProgramCall& call);
  /// The ids of the servers that run.
  std::vector<int> processes() const;

 private:
  int device_;
  std::map<std::string, std::weak_ptr<ServerSlot>> slots_;
  std::shared_ptr<ServerSlot> last_;
};

}  // namespace xtune::process
