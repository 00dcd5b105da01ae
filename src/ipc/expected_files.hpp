// Where a problem's expected outputs and a configuration's own lie between the processes of a run.
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
/// There once all the others are.
inline std::filesystem::path expected_complete_path(const std::filesystem::path& scratch) {
  return scratch / "expected-complete";
}
/// What a validating launch left in an output: "first" and "last" of a configuration's own, "round-N" of job N of
/// rounds.
inline std::filesystem::path output_path(const std::filesystem::path& folder, const std::string& launch,
                                         std::size_t buffer) {
  return folder / (launch + "-" + std::to_string(buffer));
}
inline std::string launch_of_round(std::size_t job) { return "round-" + std::to_string(job); }

}  // namespace xtune::ipc
