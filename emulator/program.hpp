// Kernels of AMD GPUs, executed on the CPU: results, not times.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "emulator/fault.hpp"
#include "emulator/image.hpp"
#include "emulator/memory.hpp"
#include "emulator/report.hpp"

namespace xtune::emulator {

struct Launch {
  std::string kernel;
  std::array<std::uint32_t, 3> grid{1, 1, 1}, block{1, 1, 1};  ///< workgroups; threads of each
  std::uint32_t dynamic_lds = 0;                               ///< bytes beside the kernel's own
  std::span<const std::byte> arguments;                        ///< the explicit ones, at their offsets
  /// A part of the workgroups, in the order x, y, z, so that several threads can share a launch.
  std::uint64_t first_group = 0, groups = ~std::uint64_t{0};
  std::uint64_t max_instructions = 20'000'000'000ull;  ///< of all waves; more end the launch
  /// Once it is true, the launch ends early, since another thread's part of it has failed. nullptr: it is never.
  const std::atomic<bool>* stop = nullptr;
  /// Called repeatedly while the launch runs. `place` gives the instruction that a wave has just executed.
  std::function<void(const std::function<std::string()>& place)> watch;
};

/// Whether code for this architecture ("gfx942") can be executed.
bool executes(std::string_view arch);

/// A code object that was decoded once. Nothing changes in a launch, so several threads may launch at the same time,
/// as long as the kernel itself shares no writable variables of the code object.
class Program {
 public:
  /// arch: "gfx942"; what follows a colon is ignored. Throws Error(invalid_argument) for damaged code objects,
  /// Error(unsupported) for other architectures, Error(unavailable) without LLVM's library.
  static Program load(std::string_view image, std::string_view arch);
  Program(Program&& other) noexcept;
  Program& operator=(Program&& other) noexcept;
  ~Program();

  std::vector<std::string> kernels() const;
  /// nullopt: the code object exports no variable of this name. The memory belongs to this object, and kernels of it
  /// may access it.
  std::optional<Variable> variable(const std::string& name) const;
  /// Distinct instructions of the code object that the emulator does not know, with the reason.
  std::vector<std::string> unknown_instructions() const;
  /// Executes the workgroups one after the other, each until it ends or waits for another one. Throws Fault for what
  /// the kernel does wrong, Error(invalid_argument) for a launch that no device accepts.
  Report launch(const Launch& launch, const Memory& memory) const;

 private:
  struct State;
  explicit Program(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace xtune::emulator
