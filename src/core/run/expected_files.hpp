// Where a problem's expected outputs and a configuration's own lie between the processes of a run.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>

namespace xtune {

/// The expected contents of a buffer argument, by its number among the buffers, raw bytes. Arguments without a file are
/// not compared.
inline std::filesystem::path expected_path(const std::filesystem::path& scratch, std::size_t buffer) {
  return scratch / ("expected-" + std::to_string(buffer));
}
/// There once all the others are.
inline std::filesystem::path expected_complete_path(const std::filesystem::path& scratch) {
  return scratch / "expected-complete";
}
/// What the last validating launch left in an output.
inline std::filesystem::path output_path(const std::filesystem::path& folder, std::size_t buffer) {
  return folder / ("output-" + std::to_string(buffer));
}

}  // namespace xtune
