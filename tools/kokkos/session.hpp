// What all kernels and contexts of the application share: settings, store, clock, and Kokkos' callbacks.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "system/clock.hpp"
#include "tools/kokkos/kokkos_functions.hpp"
#include "tools/kokkos/online_tuner.hpp"
#include "tools/kokkos/results.hpp"
#include "tools/kokkos/settings.hpp"
#include "tools/kokkos/variables.hpp"

namespace xtune::kokkos_tools {

/// A kernel, or a context of the application with the values of its inputs, while it is tuned.
struct Region {
  Question question;
  std::vector<std::size_t> ids;  ///< of its variables
  std::vector<std::int32_t> types;
  build::KeyParts parts;
  std::unique_ptr<OnlineTuner> tuner;
  std::unique_ptr<ResultWriter> writer;  ///< nullptr: nothing is stored
  double read_ms = 0;                    ///< when the store was last read
  std::uint64_t calls = 0;
  bool inner_measured = false;  ///< during its last call, a region inside was measured
  std::optional<std::size_t> open_context = std::nullopt;
  Choice values_of = std::nullopt;  ///< the configuration that `values` has
  std::vector<abi::Value> values = {};

  /// The values of a configuration, in the order of ids.
  const std::vector<abi::Value>& values_for(std::uint64_t index);
};

struct NamedVariable {
  std::size_t id = 0;
  Variable variable;
};

class Session {
 public:
  /// request_values: the callback that Kokkos gets while the tool is visible.
  Session(Settings settings, KokkosFunctions functions, abi::RequestValues request_values,
          system::Clock& clock = system::system_clock());

  const Settings& settings() const noexcept { return settings_; }
  void turn_off() noexcept { settings_.mode = Mode::off; }
  /// Read from Kokkos by the first call, which must come after Kokkos' initialisation.
  const Configuration& configuration();
  double now_ms() { return static_cast<double>(clock_.now_ns()) * 1e-6; }

  /// Makes Kokkos see a tuning tool, or none, so that it takes its own choices. False: this Kokkos' functions were not
  /// found.
  bool show(bool visible);
  void set_fence(void (*action)(std::uint32_t)) noexcept { fence_ = action; }
  /// Waits for kernels of asynchronous execution spaces.
  void fence(std::uint32_t device);

  /// Variables in the order in which Kokkos asks for their values. nullptr: there is nothing to tune, or it cannot be.
  /// `what` names the kernel or the context; device: nullopt outside of kernels.
  std::unique_ptr<Region> make_region(const std::string& what, Bindings problem, std::optional<std::uint32_t> device,
                                      const std::vector<NamedVariable>& variables);
  /// Reads other processes' results if it is time to.
  void refresh(Region& region);
  /// Stores what was measured.
  void store(Region& region);

  /// One line on standard error, once for each text, up to a limit.
  void warn(const std::string& text);
  /// On standard error, even if that is a pipe without a reader.
  static void print(const std::string& text);
  /// After fork(): the child stores nothing, since its file is the parent's, and tries nothing.
  void become_child() noexcept { is_child_ = true; }
  bool is_child() const noexcept { return is_child_; }

 private:
  device::DeviceInfo device_info(std::optional<std::uint32_t> device);
  std::vector<std::string> environment();
  void stop_storing(const std::string& why);

  Settings settings_;
  KokkosFunctions functions_;
  abi::RequestValues request_values_;
  system::Clock& clock_;
  std::optional<Configuration> configuration_;
  std::optional<std::filesystem::path> store_;
  std::string attempt_;
  void (*fence_)(std::uint32_t) = nullptr;
  bool visible_ = true, is_child_ = false;
  std::set<std::string> warned_;
};

}  // namespace xtune::kokkos_tools
