// The files in which processes of a run exchange a problem's expected outputs and a configuration's outputs.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>

namespace xtune::ipc {

/// The expected contents of a buffer argument, by its number among the buffers, raw bytes. Arguments without a file are
/// not compared.
inline std::filesystem::path expected_path(const std::filesystem::path& scratch, std::size_t buffer) {
  return scratch / ("expected-" + std::to_string(buffer));
}
/// Exists once all the others do.
inline std::filesystem::path expected_complete_path(const std::filesystem::path& scratch) {
  return scratch / "expected-complete";
}
/// An output of a validating launch: "first" and "last" for a single configuration, "round-N" for job N of rounds.
inline std::filesystem::path output_path(const std::filesystem::path& folder, const std::string& launch,
                                         std::size_t buffer) {
  return folder / (launch + "-" + std::to_string(buffer));
}
inline std::string launch_of_round(std::size_t job) { return "round-" + std::to_string(job); }

}  // namespace xtune::ipc
