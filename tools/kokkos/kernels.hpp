// Kokkos' own kernels: team sizes, vector lengths, tiles and occupancies of the policies that leave them to Kokkos.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "tools/kokkos/session.hpp"

namespace xtune::kokkos_tools {

/// Kokkos passes 0 as the default of a policy's variables, which is the first entry of its list (a team of one thread,
/// a tile of one iteration), and not its own choice. So while a kernel is to run with Kokkos' own choice, the tool is
/// hidden from Kokkos. The first call of each kernel is hidden, and shows which variables it has. Calls from several
/// threads at once cannot be told apart: from then on every kernel runs with Kokkos' own choice. For one thread at a
/// time.
class Kernels {
 public:
  explicit Kernels(Session& session) : session_(session) {}
  ~Kernels();
  Kernels(const Kernels&) = delete;
  Kernels& operator=(const Kernels&) = delete;

  /// Before a kernel's launch. Returns the number for end().
  std::uint64_t begin(const char* name, std::uint32_t device, bool may_measure);
  void end(std::uint64_t number);
  /// Whether a kernel is being launched on this thread: variables declared and values requested now are its own.
  bool launching() const;
  void declare(std::size_t id, Variable variable);
  /// A variable that cannot be tuned: neither can the kernel.
  void refuse();
  void request(std::size_t count, abi::VariableValue* values);
  /// Whether a kernel is being measured.
  bool measuring() const noexcept { return measuring_ > 0; }
  /// Kernels that are not tuned because Settings::tiles is false.
  int kernels_with_tiles() const noexcept { return kernels_with_tiles_; }
  /// In alphabetical order.
  void visit(const std::function<void(Region&)>& visitor);

 private:
  struct Kernel {
    std::string name;
    std::uint32_t kind = 0;  ///< of execution space
    std::vector<NamedVariable> variables = {};
    bool refused = false;
    std::unique_ptr<Region> region = nullptr;
  };
  struct Frame;
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const noexcept { return std::hash<std::string_view>()(text); }
  };

  Kernel* find(std::string_view name, std::uint32_t device);
  Region* region_of(Kernel& kernel, std::uint32_t device);
  void drop(std::size_t depth);
  static std::vector<Frame>& frames();

  Session& session_;
  std::unordered_map<std::string, Kernel, Hash, std::equal_to<>> kernels_;
  std::uint64_t last_number_ = 0;
  int running_ = 0, measuring_ = 0, kernels_with_tiles_ = 0;
  const void* last_thread_ = nullptr;
  bool concurrent_ = false;
};

}  // namespace xtune::kokkos_tools
