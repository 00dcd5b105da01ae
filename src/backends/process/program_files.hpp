// The private directory of a program: its image, and the directory that {tmp} names.
#pragma once

#include <string>
#include <vector>

#include "backends/process/run_program.hpp"
#include "core/device/program_call.hpp"
#include "system/files.hpp"

namespace xtune::process {

class ProgramFiles {
 public:
  ProgramFiles();

  const device::ProgramPlaces& places() const noexcept { return places_; }
  const std::filesystem::path& folder() const noexcept { return folder_.path(); }
  /// Makes an executable file of the image at {out}. Throws Error(io).
  void install(const std::string& image) const;
  /// Makes {tmp} an empty directory. Throws Error(io).
  void empty_tmp() const;
  /// How these call texts are started, with the call's environment and directory. device: index of the one device that
  /// the program may see, if the call restricts this.
  ProgramRun command_of(const device::ProgramCall& call, const std::vector<std::string>& call_texts, int device) const;

 private:
  const system::TemporaryDirectory folder_;
  const device::ProgramPlaces places_;
};

}  // namespace xtune::process
