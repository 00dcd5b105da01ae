// Passes Kokkos' calls on, and keeps exceptions out of the application.
#include "tools/kokkos/tool.hpp"

#include <fmt/core.h>

#include <exception>

#include "base/text.hpp"
#include "core/space/value.hpp"

namespace xtune::kokkos_tools {
namespace {

std::string line_of(const Region& region) {
  const OnlineTuner& tuner = *region.tuner;
  const std::string name = base::printable(region.question.kernel, 60);
  const std::string state = tuner.decided() ? "decided" : "not decided";
  if (!tuner.best())
    return fmt::format("  {:<60}  {:>8} calls  {}  default {}\n", name, region.calls, state,
                       base::human_time_ms(tuner.default_ms()));
  return fmt::format("  {:<60}  {:>8} calls  {}  {} -> {}  {}\n", name, region.calls, state,
                     base::human_time_ms(tuner.default_ms()), base::human_time_ms(tuner.best_ms()),
                     space::shown_text(tuner.space().named(tuner.space().at(*tuner.best()))));
}

}  // namespace

Tool::Tool(Settings settings, KokkosFunctions functions, abi::RequestValues request_values, system::Clock& clock)
    : session_(std::move(settings), functions, request_values, clock), kernels_(session_), contexts_(session_) {}

template <class Action>
void Tool::guarded(const Action& action) noexcept {
  try {
    const std::lock_guard lock(mutex_);
    try {
      action();
    } catch (const std::exception& failure) {
      session_.warn(failure.what());
    }
  } catch (...) {  // out of memory for a warning, or a lock that fails: there is nothing to be done
  }
}

void Tool::initialize() noexcept {
  guarded([&] {
    const bool is_on = session_.settings().mode != Mode::off;
    if (session_.show(is_on) || !is_on) return;
    session_.turn_off();
    session_.warn(
        "nothing is tuned: Kokkos' functions are not in the program's symbols. Link it with -rdynamic or to a shared "
        "Kokkos, and do not strip it");
  });
}

void Tool::finalize() noexcept {
  guarded([&] {
    if (session_.settings().verbose && session_.settings().mode != Mode::off) session_.print(summary());
    const auto stop = [&](Region& region) {
      region.tuner->stop();
      session_.store(region);
    };
    kernels_.visit(stop);
    contexts_.visit(stop);
  });
}

std::string Tool::summary() {
  std::string text = "xtune: Kokkos kernels and contexts that were tuned\n";
  const auto add = [&](const Region& region) { text += line_of(region); };
  kernels_.visit(add);
  contexts_.visit(add);
  if (const int count = kernels_.kernels_with_tiles(); count > 0)
    text += fmt::format("  kernels with MDRangePolicy tiles, which are not tuned (XTUNE_KOKKOS_TILES): {}\n", count);
  return text;
}

void Tool::provide_actions(std::uint32_t count, const abi::ToolActions& actions) noexcept {
  if (count > 0) guarded([&] { session_.set_fence(actions.fence); });
}

std::uint64_t Tool::begin_kernel(const char* name, std::uint32_t device) noexcept {
  std::uint64_t number = 0;
  guarded([&] {
    if (abi::is_asynchronous(device)) contexts_.set_asynchronous(device);
    if (session_.settings().mode == Mode::off) return;
    number = kernels_.begin(name, device, !contexts_.measuring() && !session_.is_child());
    if (kernels_.measuring()) contexts_.note_inner();
  });
  return number;
}

void Tool::end_kernel(std::uint64_t number) noexcept {
  guarded([&] { kernels_.end(number); });
}

void Tool::declare_output(const char* name, std::size_t id, const abi::VariableInfo* info) noexcept {
  guarded([&] {
    const bool of_kernel = kernels_.launching();
    try {
      if (!info) throw Error(ErrorKind::unsupported, "a variable without a description");
      Variable variable = read_variable(name, *info);
      if (of_kernel)
        kernels_.declare(id, std::move(variable));
      else
        contexts_.declare_output(id, std::move(variable));
    } catch (const Error& failure) {
      if (of_kernel) kernels_.refuse();
      session_.warn(failure.what());
    }
  });
}

void Tool::declare_input(const char* name, std::size_t id, const abi::VariableInfo* info) noexcept {
  if (info) guarded([&] { contexts_.declare_input(id, name, info->type); });
}

void Tool::declare_goal(std::size_t context) noexcept {
  guarded([&] { contexts_.declare_goal(context); });
}

/// The last kernel may have left the tool hidden.
void Tool::begin_context() noexcept {
  guarded([&] {
    if (!kernels_.launching() && session_.settings().mode != Mode::off) session_.show(true);
  });
}

void Tool::request(std::size_t context, std::size_t input_count, const abi::VariableValue* inputs,
                   std::size_t output_count, abi::VariableValue* outputs) noexcept {
  guarded([&] {
    if (session_.settings().mode == Mode::off) return;
    if (kernels_.launching())
      kernels_.request(output_count, outputs);
    else
      contexts_.request(context, input_count, inputs, output_count, outputs,
                        !kernels_.measuring() && !session_.is_child());
  });
}

void Tool::end_context(std::size_t context) noexcept {
  guarded([&] { contexts_.end(context); });
}

void Tool::after_fork(bool is_child) {
  if (is_child) session_.become_child();
  mutex_.unlock();
}

}  // namespace xtune::kokkos_tools
