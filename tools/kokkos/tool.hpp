// The connector: what Kokkos calls, with all state behind one lock.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>

#include "tools/kokkos/contexts.hpp"
#include "tools/kokkos/kernels.hpp"

namespace xtune::kokkos_tools {

/// Every function may be called by any thread, and none throws: an error is a warning, and the defaults stay.
class Tool {
 public:
  Tool(Settings settings, KokkosFunctions functions, abi::RequestValues request_values,
       system::Clock& clock = system::system_clock());

  void initialize() noexcept;
  /// Stores what is not stored yet, and prints the table if it is asked for.
  void finalize() noexcept;
  void provide_actions(std::uint32_t count, const abi::ToolActions& actions) noexcept;
  std::uint64_t begin_kernel(const char* name, std::uint32_t device) noexcept;
  void end_kernel(std::uint64_t number) noexcept;
  void declare_output(const char* name, std::size_t id, const abi::VariableInfo* info) noexcept;
  void declare_input(const char* name, std::size_t id, const abi::VariableInfo* info) noexcept;
  void declare_goal(std::size_t context) noexcept;
  void begin_context() noexcept;
  void request(std::size_t context, std::size_t input_count, const abi::VariableValue* inputs, std::size_t output_count,
               abi::VariableValue* outputs) noexcept;
  void end_context(std::size_t context) noexcept;

  /// For fork(): locked in the parent before it, and released in both processes after it.
  void before_fork() { mutex_.lock(); }
  void after_fork(bool is_child);
  /// The table of finalize(): a line for each region.
  std::string summary();

 private:
  template <class Action>
  void guarded(const Action& action) noexcept;

  std::mutex mutex_;
  Session session_;
  Kernels kernels_;
  Contexts contexts_;
};

}  // namespace xtune::kokkos_tools
