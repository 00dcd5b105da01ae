// The application's own tuning contexts: variables that it declares with Kokkos::Tools::Experimental.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>

#include "tools/kokkos/session.hpp"

namespace xtune::kokkos_tools {

/// For one thread at a time.
class Contexts {
 public:
  explicit Contexts(Session& session) : session_(session) {}

  void declare_input(std::size_t id, const char* name, std::int32_t type);
  void declare_output(std::size_t id, Variable variable) { outputs_[id] = std::move(variable); }
  /// The context is to be optimised for something else than time: it is not tuned.
  void declare_goal(std::size_t context) { goals_[context] = true; }

  /// Fills in the values, or leaves the application's defaults.
  void request(std::size_t context, std::size_t input_count, const abi::VariableValue* inputs, std::size_t output_count,
               abi::VariableValue* outputs, bool may_measure);
  void end(std::size_t context);
  /// A region inside of open contexts is measured: they are not at the same time.
  void note_inner();
  bool measuring() const noexcept { return measuring_ > 0; }
  /// Sets whether kernels may still run when they have been launched.
  void set_asynchronous(std::uint32_t device) noexcept { asynchronous_ = device; }
  /// Regions with equal variables follow each other.
  void visit(const std::function<void(Region&)>& visitor);

 private:
  struct Open {
    Region* region = nullptr;
    bool measured = false;
    double start_ms = 0;
  };
  struct Input {
    std::string name;
    std::int32_t type = 0;
    bool of_kernel = false;
  };

  Region* region_of(std::size_t input_count, const abi::VariableValue* inputs, std::size_t output_count,
                    const abi::VariableValue* outputs);
  void forget(std::size_t context);
  void fence();

  Session& session_;
  std::map<std::size_t, Input> inputs_;
  std::map<std::size_t, Variable> outputs_;
  std::map<std::size_t, bool> goals_;
  std::unordered_map<std::string, std::unique_ptr<Region>> regions_;  ///< nullptr: cannot be tuned
  std::unordered_map<std::size_t, Open> open_;
  int measuring_ = 0;
  std::optional<std::uint32_t> asynchronous_;
};

}  // namespace xtune::kokkos_tools
