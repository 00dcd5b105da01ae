// libxtune_kokkos.so: the functions that Kokkos looks up in a tool.
#include <pthread.h>

#include <cstdlib>

#include "tools/kokkos/tool.hpp"

namespace {

using namespace xtune::kokkos_tools;  // NOLINT(google-build-using-namespace)

void request_values(std::size_t context, std::size_t input_count, const abi::VariableValue* inputs,
                    std::size_t output_count, abi::VariableValue* outputs);

/// The tool, and what it found of Kokkos.
struct Loaded {
  KokkosFunctions functions;
  Tool* tool = nullptr;  ///< nullptr: it could not be made. Never destroyed: Kokkos may call until the process ends
};

Tool* tool() noexcept;

Loaded load() noexcept {
  Loaded loaded;
  try {
    loaded.functions = find_kokkos_functions();
    loaded.tool =
        new Tool(read_settings([](const char* name) { return std::getenv(name); }), loaded.functions, &request_values);
    ::pthread_atfork([] { tool()->before_fork(); }, [] { tool()->after_fork(false); },
                     [] { tool()->after_fork(true); });
  } catch (...) {
  }
  return loaded;
}

const Loaded& loaded() noexcept {
  static const Loaded only = load();
  return only;
}

Tool* tool() noexcept { return loaded().tool; }

void request_values(std::size_t context, std::size_t input_count, const abi::VariableValue* inputs,
                    std::size_t output_count, abi::VariableValue* outputs) {
  if (Tool* const made = tool()) made->request(context, input_count, inputs, output_count, outputs);
}

/// Whether the tool can be hidden from Kokkos. If it cannot, it must not have a callback for values: Kokkos would then
/// use the first team size and tile of its lists where xtune does not answer.
bool can_answer() noexcept { return tool() && loaded().functions.set_request_values; }

}  // namespace

extern "C" {

abi::RequestValues xtune_kokkos_resolve_request_values() { return can_answer() ? &request_values : nullptr; }

/// dlsym() calls the resolver and returns its result, a null pointer too.
void kokkosp_request_values(std::size_t context, std::size_t input_count, const abi::VariableValue* inputs,
                            std::size_t output_count, abi::VariableValue* outputs)
    __attribute__((ifunc("xtune_kokkos_resolve_request_values")));

void kokkosp_init_library(int /*sequence*/, std::uint64_t /*interface_version*/, std::uint32_t /*device_count*/,
                          void* /*devices*/) {
  if (Tool* const made = tool()) made->initialize();
}

void kokkosp_finalize_library() {
  if (Tool* const made = tool()) made->finalize();
}

/// Kokkos would wait for the device before and after every kernel; the tool waits only where it measures.
void kokkosp_request_tool_settings(std::uint32_t /*count*/, abi::ToolSettings* settings) {
  if (settings) settings->requires_global_fencing = false;
}

void kokkosp_provide_tool_programming_interface(std::uint32_t count, abi::ToolActions actions) {
  if (Tool* const made = tool()) made->provide_actions(count, actions);
}

void kokkosp_begin_parallel_for(const char* name, std::uint32_t device, std::uint64_t* number) {
  if (Tool* const made = tool(); made && number) *number = made->begin_kernel(name, device);
}
void kokkosp_end_parallel_for(std::uint64_t number) {
  if (Tool* const made = tool()) made->end_kernel(number);
}
void kokkosp_begin_parallel_reduce(const char* name, std::uint32_t device, std::uint64_t* number) {
  kokkosp_begin_parallel_for(name, device, number);
}
void kokkosp_end_parallel_reduce(std::uint64_t number) { kokkosp_end_parallel_for(number); }
void kokkosp_begin_parallel_scan(const char* name, std::uint32_t device, std::uint64_t* number) {
  kokkosp_begin_parallel_for(name, device, number);
}
void kokkosp_end_parallel_scan(std::uint64_t number) { kokkosp_end_parallel_for(number); }

void kokkosp_declare_output_type(const char* name, std::size_t id, const abi::VariableInfo* info) {
  if (Tool* const made = tool()) made->declare_output(name, id, info);
}
void kokkosp_declare_input_type(const char* name, std::size_t id, const abi::VariableInfo* info) {
  if (Tool* const made = tool()) made->declare_input(name, id, info);
}
void kokkosp_declare_optimization_goal(std::size_t context, abi::OptimizationGoal /*goal*/) {
  if (Tool* const made = tool()) made->declare_goal(context);
}
void kokkosp_begin_context(std::size_t /*context*/) {
  if (Tool* const made = tool()) made->begin_context();
}
void kokkosp_end_context(std::size_t context, abi::VariableValue /*value*/) {
  if (Tool* const made = tool()) made->end_context(context);
}

}  // extern "C"
