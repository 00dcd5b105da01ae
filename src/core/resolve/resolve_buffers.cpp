// Scratch buffers and tensor maps of a configuration, judged by the limits of the driver before anything compiles.
#include <fmt/core.h>

#include <algorithm>

#include "base/named.hpp"
#include "base/text.hpp"
#include "core/resolve/resolve_state.hpp"
#include "core/validate/inputs.hpp"
#include "system/machine.hpp"

namespace xtune::resolve {

namespace {

using Number = std::function<std::int64_t(const spec::CompiledText&)>;

std::vector<std::int64_t> numbers(const std::vector<spec::CompiledText>& texts, const Number& number) {
  std::vector<std::int64_t> values;
  for (const spec::CompiledText& text : texts) values.push_back(number(text));
  return values;
}

measure::TensorMap map_of(const TensorMapTexts& texts, const Number& number) {
  const auto list = [&](const char* key) { return numbers(texts.texts(key), number); };
  const auto one = [&](const char* key, std::int64_t& value) {
    for (const spec::CompiledText& text : texts.texts(key)) value = number(text);
  };
  const spec::TensorMapSpec& spec = *texts.argument->map;
  measure::TensorMap map;
  map.dtype = texts.argument->dtype;
  map.tf32 = spec.tf32;
  map.shape = list(texts.texts("shape").empty() ? "of" : "shape");
  map.box = list("box");
  map.element_strides = list("element_strides");
  if (map.element_strides.empty()) map.element_strides.assign(map.shape.size(), 1);
  map.strides = texts.texts("strides").empty() ? measure::dense_strides(map.shape) : list("strides");
  one("swizzle", map.swizzle);
  one("l2_promotion", map.l2_promotion);
  one("interleave", map.interleave);
  map.nan_outside = spec.nan_outside;
  return map;
}

/// The part of the buffer that the map describes must exist.
std::optional<std::string> beyond_buffer(const TensorMapTexts& texts, const measure::TensorMap& map,
                                         const std::vector<std::int64_t>& buffer) {
  validate::ArgumentLayout layout{texts.of->name, texts.of->role, texts.of->dtype, {}, {}, {}, {}};
  for (const std::int64_t extent : buffer) {
    if (extent < 1) return std::nullopt;  // an error of the buffer
    layout.shape.push_back(static_cast<std::uint64_t>(extent));
  }
  const std::uint64_t span = measure::span_bytes(map);
  if (span <= layout.bytes()) return std::nullopt;
  return fmt::format("its shape and strides end {} bytes behind the start of '{}', which has {} ({})", span,
                     texts.of->name, layout.bytes(), validate::describe(layout.dtype, layout.shape));
}

}  // namespace

const std::vector<spec::CompiledText>& TensorMapTexts::texts(std::string_view key) const {
  return std::find_if(values.begin(), values.end(), [&](const auto& each) { return each.first == key; })->second;
}

std::vector<const spec::CompiledText*> TensorMapTexts::all(const std::set<std::string>& keys) const {
  std::vector<const spec::CompiledText*> found;
  for (const auto& [key, list] : values)
    for (const spec::CompiledText& text : list)
      if (keys.empty() || keys.contains(key)) found.push_back(&text);
  return found;
}

spec::Location TensorMapTexts::at(const std::string& key) const {
  const std::vector<const spec::CompiledText*> found = all({key});
  return found.empty() ? argument->at : found.front()->source().at;
}

std::vector<measure::TensorMap> CandidateResolver::tensor_maps(const space::Config& config) const {
  std::vector<measure::TensorMap> result;
  const Number number = [&](const spec::CompiledText& text) { return state_->integer_of(text, config); };
  for (const TensorMapTexts& texts : state_->buffers.maps) {
    const spec::ArgSpec& argument = *texts.argument;
    const std::vector<std::int64_t> buffer = numbers(texts.texts("of"), number);
    measure::TensorMap map = map_of(texts, number);
    const auto refuse = [&](const std::vector<const spec::CompiledText*>& causes, const measure::ForbiddenMap& found) {
      state_->reject(causes, config, texts.at(found.key),
                     fmt::format("tensor map '{}': {}", argument.name, found.reason));
    };
    if (const auto found = measure::forbidden_words(map))
      refuse(texts.all({"swizzle", "l2_promotion", "interleave"}), *found);
    if (const auto found = measure::forbidden(map)) refuse(texts.all(), *found);
    if (const auto reason = beyond_buffer(texts, map, buffer)) refuse(texts.all(), {"shape", *reason});
    if (const auto lack = measure::lack_of_tensor_maps(state_->device))
      throw build::CandidateFailure(Outcome::rejected, fmt::format("tensor map '{}': {}", argument.name, *lack));
    result.push_back(std::move(map));
  }
  return result;
}

std::vector<validate::ArgumentLayout> CandidateResolver::scratch(const space::Config& config) const {
  std::vector<validate::ArgumentLayout> result;
  const std::int64_t memory_bytes = state_->device.memory_bytes;
  const std::uint64_t limit =
      memory_bytes > 0 ? static_cast<std::uint64_t>(memory_bytes) : system::machine_memory_bytes();
  for (const ScratchTexts& texts : state_->buffers.scratch) {
    const spec::ArgSpec& argument = *texts.argument;
    validate::ArgumentLayout layout{
        argument.name, argument.role, argument.dtype, {}, argument.fill, {}, spec::to_string(argument.at)};
    for (const spec::CompiledText& text : texts.shape) {
      const std::int64_t extent = state_->integer_of(text, config);
      if (extent < 0)
        state_->reject({&text}, config, text.source().at,
                       fmt::format("scratch buffer '{}': its extent {} = {} must be at least 0", argument.name,
                                   text.source().text, extent));
      layout.shape.push_back(static_cast<std::uint64_t>(extent));
    }
    if (limit > 0 && layout.bytes() > limit) {
      std::vector<const spec::CompiledText*> extents;
      for (const spec::CompiledText& text : texts.shape) extents.push_back(&text);
      const spec::Location& at = texts.shape.front().source().at;
      const std::string complaint = fmt::format("scratch buffer '{}': {} takes {}, and the device has {}",
                                                argument.name, validate::describe(argument.dtype, layout.shape),
                                                base::human_bytes(layout.bytes()), base::human_bytes(limit));
      state_->reject(extents, config, at, complaint, SpecTexts::Limit::of_device);
    }
    result.push_back(std::move(layout));
  }
  check_sums(config, result);
  return result;
}

/// Each element of a sum adds up as many elements of the scratch buffer.
void CandidateResolver::check_sums(const space::Config& config,
                                   const std::vector<validate::ArgumentLayout>& scratch) const {
  const auto is_sum = [](const auto& each) { return !each.sum_of.empty(); };
  if (std::none_of(state_->args.begin(), state_->args.end(), is_sum)) return;
  for (const validate::ArgumentLayout& sum : layouts()) {
    if (!is_sum(sum)) continue;
    const auto number = static_cast<std::size_t>(base::find_named(scratch, sum.sum_of) - scratch.data());
    if (scratch[number].elements() % sum.elements() == 0) continue;
    std::vector<const spec::CompiledText*> extents;
    for (const spec::CompiledText& text : state_->buffers.scratch[number].shape) extents.push_back(&text);
    state_->reject(extents, config, base::find_named(state_->args, sum.name)->at,
                   fmt::format("'{}' {} is the sum of '{}' {}, whose number of elements must be a multiple", sum.name,
                               validate::describe(sum.dtype, sum.shape), sum.sum_of,
                               validate::describe(scratch[number].dtype, scratch[number].shape)));
  }
}

}  // namespace xtune::resolve
