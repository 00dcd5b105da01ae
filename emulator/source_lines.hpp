// Lines of the source from which instructions were compiled, where the code object has them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace xtune::emulator {

/// Reads DWARF by libdw of elfutils, opened at the first question. Several threads may ask at the same time.
class SourceLines {
 public:
  /// image: an ELF file, which is copied if it has line tables.
  explicit SourceLines(std::string_view image);
  ~SourceLines();
  /// "gemm.hip:12", "amd_hip_atomic.h:40, inlined at gemm.hip:12"; empty: the code object does not have it, or libdw is
  /// not installed.
  std::string at(std::uint64_t address) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace xtune::emulator
