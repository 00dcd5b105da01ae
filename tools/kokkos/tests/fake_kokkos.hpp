// A stand-in for Kokkos' runtime: it calls the connector in the order in which Kokkos does, and its clock advances by a
// kernel's modelled time.
#pragma once

#include <cmath>
#include <cstdlib>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "fakes/fake_clock.hpp"
#include "tools/kokkos/tool.hpp"

namespace xtune::kokkos_tools {

inline abi::VariableInfo real_range(double lower, double upper, double step) {
  abi::VariableInfo info{abi::type_double, abi::interval, abi::candidates_range, {}, nullptr};
  info.candidates.range = {};
  info.candidates.range.lower.real = lower;
  info.candidates.range.upper.real = upper;
  info.candidates.range.step.real = step;
  info.candidates.range.open_lower = info.candidates.range.open_upper = true;
  return info;
}

inline abi::VariableInfo integer_set(const std::vector<std::int64_t>& values) {
  abi::VariableInfo info{abi::type_integer, abi::categorical, abi::candidates_set, {}, nullptr};
  info.candidates.set = {values.size(), {values.data()}};
  return info;
}

/// A kernel whose policy leaves sizes to Kokkos: for each of them the values in Kokkos' hidden list.
struct FakeKernel {
  std::string name;
  std::vector<std::string> variables;  ///< "_team_size"
  std::vector<std::vector<int>> lists;
  std::vector<int> own_choice;
  std::function<double(const std::vector<int>&)> time_ms;
  std::uint32_t device = 1u << 24;
  std::vector<std::size_t> ids = {};
};

class FakeKokkos {
 public:
  /// store: the directory that XTUNE_CACHE_DIR names.
  FakeKokkos(const std::string& store, Settings settings = {}, bool functions_found = true) {
    ::setenv("XTUNE_CACHE_DIR", store.c_str(), 1);
    callback_ = functions_found ? &request : nullptr;  // as the library's resolver decides
    const KokkosFunctions functions{functions_found ? &set_request_values : nullptr, &print_configuration};
    tool_ = std::make_unique<Tool>(std::move(settings), functions, &request, clock);
    current_ = tool_.get();
    tool_->initialize();
  }
  ~FakeKokkos() { current_ = nullptr; }

  Tool& tool() { return *tool_; }
  static bool has_tuning_tool() { return callback_ != nullptr; }

  /// Runs a kernel once; the sizes that it ran with.
  std::vector<int> run(FakeKernel& kernel) {
    const std::uint64_t number = tool_->begin_kernel(kernel.name.c_str(), kernel.device);
    const std::size_t kernel_context = next_context_++;
    tool_->begin_context();
    if (kernel.ids.empty())
      for (const std::string& variable : kernel.variables) {
        const abi::VariableInfo info = real_range(0, 0.999, 0.999 / 20);
        kernel.ids.push_back(next_id_++);
        tool_->declare_output((kernel.name + variable).c_str(), kernel.ids.back(), &info);
      }
    std::vector<int> sizes = kernel.own_choice;
    std::optional<std::size_t> context;
    if (has_tuning_tool() && !kernel.variables.empty()) {
      context = next_context_++;
      tool_->begin_context();
      std::vector<abi::VariableValue> values(kernel.ids.size());
      for (std::size_t i = 0; i < values.size(); ++i) values[i].type_id = kernel.ids[i];
      callback_(*context, 0, nullptr, values.size(), values.data());
      for (std::size_t i = 0; i < values.size(); ++i)
        sizes[i] = kernel.lists[i].at(
            static_cast<std::size_t>(values[i].value.real * static_cast<double>(kernel.lists[i].size())));
    }
    clock.advance_s(kernel.time_ms(sizes) * 1e-3);
    tool_->end_kernel(number);
    tool_->end_context(kernel_context);
    if (context && has_tuning_tool()) tool_->end_context(*context);
    return sizes;
  }

  /// Declares a variable of the application.
  std::size_t declare(const std::string& name, const abi::VariableInfo& info) {
    tool_->declare_output(name.c_str(), next_id_, &info);
    return next_id_++;
  }
  std::size_t declare_input(const std::string& name, std::int32_t type) {
    abi::VariableInfo info{type, abi::categorical, abi::candidates_unbounded, {}, nullptr};
    tool_->declare_input(name.c_str(), next_id_, &info);
    return next_id_++;
  }
  std::size_t begin_context(std::vector<abi::VariableValue> inputs, std::vector<abi::VariableValue>& outputs) {
    const std::size_t context = next_context_++;
    tool_->begin_context();
    if (callback_) callback_(context, inputs.size(), inputs.data(), outputs.size(), outputs.data());
    return context;
  }
  void end_context(std::size_t context) { tool_->end_context(context); }

  fakes::FakeClock clock;

 private:
  static void set_request_values(abi::RequestValues callback) { callback_ = callback; }
  static void print_configuration(void* stream, bool) {
    *static_cast<std::ostream*>(stream) << "Kokkos Version: 5.2.2\n";
  }
  static void request(std::size_t context, std::size_t inputs, const abi::VariableValue* input, std::size_t outputs,
                      abi::VariableValue* output) {
    current_->request(context, inputs, input, outputs, output);
  }

  static inline abi::RequestValues callback_ = nullptr;
  static inline Tool* current_ = nullptr;
  std::unique_ptr<Tool> tool_;
  std::size_t next_id_ = 10, next_context_ = 1;
};

/// Vector lengths and team sizes as Kokkos lists them; {4, 32} takes 0.5 ms, Kokkos' own choice {1, 64} 1 ms.
inline FakeKernel team_kernel(const std::string& name = "spmv") {
  return {name,
          {"_vector_length", "_team_size"},
          {{1, 2, 4, 8}, {64, 32, 16, 8, 4, 2, 1}},
          {1, 64},
          [](const std::vector<int>& sizes) {
            return 0.5 + 0.25 * std::abs(std::log2(sizes[0]) - 2) + 0.2 * std::abs(std::log2(sizes[1]) - 5) -
                   (sizes[0] == 1 && sizes[1] == 64 ? 0.2 : 0.0);
          }};
}

/// Tries the whole space, so that the result does not depend on the order.
inline Settings thorough() { return {.evals = 400}; }

/// Returns the time of all calls in ms.
inline double run_many(FakeKokkos& kokkos, FakeKernel& kernel, int calls) {
  const std::int64_t start = kokkos.clock.now_ns();
  for (int i = 0; i < calls; ++i) kokkos.run(kernel);
  return static_cast<double>(kokkos.clock.now_ns() - start) * 1e-6;
}

}  // namespace xtune::kokkos_tools
