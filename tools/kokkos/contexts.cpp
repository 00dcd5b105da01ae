// Requests for the values of an application's variables.
#include "tools/kokkos/contexts.hpp"

#include <algorithm>
#include <cstring>

#include "base/text.hpp"

namespace xtune::kokkos_tools {
namespace {

/// An input whose value is different in each call would make a region of each.
constexpr std::size_t max_regions = 4096;
constexpr std::size_t max_variables = 64;

void append_bytes(std::string& text, const void* bytes, std::size_t size) {
  text.append(static_cast<const char*>(bytes), size);
}

void append_value(std::string& text, std::int32_t type, const abi::Value& value) {
  if (type == abi::type_text)
    text.append(value.text, ::strnlen(value.text, abi::text_bytes)).push_back('\0');
  else
    append_bytes(text, &value.integer, sizeof value.integer);
}

}  // namespace

// Kokkos' own inputs describe the kernel that is being launched. Outside of kernels they are those of an earlier one.
void Contexts::declare_input(std::size_t id, const char* name, std::int32_t type) {
  const std::string text = base::utf8_text(name ? name : "");
  inputs_[id] = {text, type, text == "kokkos.kernel_name" || text == "kokkos.kernel_type"};
}

/// A context with an input that was never declared has no region: its value cannot be in the key.
Region* Contexts::region_of(std::size_t input_count, const abi::VariableValue* inputs, std::size_t output_count,
                            const abi::VariableValue* outputs) {
  thread_local std::string key;
  key.clear();
  for (std::size_t i = 0; i < output_count; ++i) append_bytes(key, &outputs[i].type_id, sizeof outputs[i].type_id);
  for (std::size_t i = 0; i < input_count; ++i) {
    const auto input = inputs_.find(inputs[i].type_id);
    if (input == inputs_.end()) return nullptr;
    if (input->second.of_kernel) continue;
    append_bytes(key, &inputs[i].type_id, sizeof inputs[i].type_id);
    append_value(key, input->second.type, inputs[i].value);
  }
  if (const auto known = regions_.find(key); known != regions_.end()) return known->second.get();
  if (regions_.size() >= max_regions || session_.is_child()) return nullptr;
  std::unique_ptr<Region>& region = regions_[key];
  std::vector<NamedVariable> variables;
  std::string what;
  for (std::size_t i = 0; i < output_count; ++i) {
    const auto output = outputs_.find(outputs[i].type_id);
    if (output == outputs_.end()) return nullptr;
    variables.push_back({output->first, output->second});
    what += (i == 0 ? "" : ",") + output->second.name;
  }
  Bindings problem;
  for (std::size_t i = 0; i < input_count; ++i) {
    const Input& input = inputs_[inputs[i].type_id];
    if (input.of_kernel) continue;
    const auto value = read_value(input.type, inputs[i].value);
    if (!value) return nullptr;
    problem[input.name] = *value;
  }
  region = session_.make_region(what, std::move(problem), asynchronous_, variables);
  return region.get();
}

void Contexts::request(std::size_t context, std::size_t input_count, const abi::VariableValue* inputs,
                       std::size_t output_count, abi::VariableValue* outputs, bool may_measure) {
  if (output_count == 0 || !outputs || output_count > max_variables || input_count > max_variables ||
      (input_count > 0 && !inputs) || goals_.contains(context))
    return;
  Region* const region = region_of(input_count, inputs, output_count, outputs);
  if (!region) return;
  ++region->calls;
  OnlineTuner& tuner = *region->tuner;
  OnlineTuner::Answer answer;
  if (tuner.decided()) {
    answer = tuner.next(false);
  } else {
    if (region->open_context) forget(*region->open_context);  // its end never came
    session_.refresh(*region);
    const bool turn = !region->inner_measured || region->calls % 2 == 0;
    region->inner_measured = false;
    answer = tuner.next(may_measure && turn && measuring_ == 0 && !open_.contains(context));
  }
  if (answer.choice) {
    const std::vector<abi::Value>& values = region->values_for(*answer.choice);
    for (std::size_t i = 0; i < output_count; ++i) outputs[i].value = values[i];
  }
  if (answer.measured) {
    note_inner();
    ++measuring_;
    fence();
  }
  if (!tuner.decided() && !open_.contains(context)) {
    region->open_context = context;
    open_[context] = {region, answer.measured, session_.now_ms()};
  }
}

void Contexts::end(std::size_t context) {
  if (open_.empty()) return;
  const auto found = open_.find(context);
  if (found == open_.end()) return;
  const Open open = found->second;
  open_.erase(found);
  open.region->open_context.reset();
  if (!open.measured) return;
  fence();
  open.region->tuner->observe(session_.now_ms() - open.start_ms);
  --measuring_;
  session_.store(*open.region);
}

void Contexts::forget(std::size_t context) {
  const auto found = open_.find(context);
  if (found == open_.end()) return;
  found->second.region->open_context.reset();
  if (found->second.measured) {
    found->second.region->tuner->forget();
    --measuring_;
  }
  open_.erase(found);
}

void Contexts::note_inner() {
  for (auto& [context, open] : open_) open.region->inner_measured = true;
}

void Contexts::fence() {
  if (asynchronous_) session_.fence(*asynchronous_);
}

void Contexts::visit(const std::function<void(Region&)>& visitor) {
  std::map<std::string_view, Region*> sorted;
  for (auto& [key, region] : regions_)
    if (region) sorted.emplace(key, region.get());
  for (const auto& [key, region] : sorted) visitor(*region);
}

}  // namespace xtune::kokkos_tools
