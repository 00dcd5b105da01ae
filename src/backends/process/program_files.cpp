// Places of a program, and the environment in which it is started.
#include "backends/process/program_files.hpp"

#include <fmt/core.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "backends/process/device.hpp"
#include "xtune/error.hpp"

namespace xtune::process {
namespace {

namespace fs = std::filesystem;

void show_device_alone(const std::string& kind, int device, system::Environment& env) {
  const char* name = kind == "cuda" ? "CUDA_VISIBLE_DEVICES" : kind == "hip" ? "HIP_VISIBLE_DEVICES" : nullptr;
  if (name) env.emplace_back(name, visible_device(std::getenv(name), device));
}

}  // namespace

ProgramFiles::ProgramFiles() : places_{(folder_.path() / "program").string(), (folder_.path() / "tmp").string()} {}

void ProgramFiles::install(const std::string& image) const {
  std::ofstream file(places_.out, std::ios::binary);
  file << image;
  file.close();
  std::error_code error;
  fs::permissions(places_.out, fs::perms::owner_all, error);
  if (!file || error)
    throw Error(
        ErrorKind::io,
        fmt::format("{} cannot be written: is the disk full? (XTUNE_TMP_DIR names another place)", places_.out));
}

void ProgramFiles::empty_tmp() const {
  std::error_code error;
  fs::remove_all(places_.tmp, error);
  fs::create_directory(places_.tmp, error);
  if (error) throw Error(ErrorKind::io, places_.tmp + ": " + error.message());
}

ProgramRun ProgramFiles::command_of(const device::ProgramCall& call, const std::vector<std::string>& call_texts,
                                    int device) const {
  ProgramRun run;
  run.argv = device::from_call_texts(call_texts, places_);
  run.folder = call.folder;
  run.timeout_s = call.timeout_s;
  run.env = {{"XTUNE_OUT", places_.out}, {"XTUNE_TMP", places_.tmp}};
  show_device_alone(call.device, device, run.env);
  for (const auto& [name, text] : call.environment) run.env.emplace_back(name, device::from_call_text(text, places_));
  return run;
}

}  // namespace xtune::process
