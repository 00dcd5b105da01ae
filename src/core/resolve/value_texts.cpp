// Arguments by value: their bytes, and their part of the measurement key.
#include <fmt/core.h>

#include <cstring>

#include "base/hash.hpp"
#include "core/resolve/resolve_state.hpp"
#include "core/space/value.hpp"

namespace xtune::resolve {
namespace {

/// Entries of a table.
constexpr std::int64_t max_entries = 65536;

std::string title(const ValueTexts& value, const FieldTexts& field) {
  const std::string& name = field.field.name;
  return fmt::format("argument '{}'{}", value.argument->name, name.empty() ? "" : ", field '" + name + "'");
}

}  // namespace

std::vector<spec::CompiledText> ValueTexts::all() const {
  std::vector<spec::CompiledText> texts;
  for (const FieldTexts& field : fields) {
    for (const auto* list : {&field.value, &field.buffer_shape}) texts.insert(texts.end(), list->begin(), list->end());
    for (const auto* one : {&field.offset, &field.stride, &field.entries})
      if (*one) texts.push_back(**one);
  }
  return texts;
}

std::vector<spec::CompiledText> CompiledStep::launch_texts() const {
  std::vector<spec::CompiledText> texts;
  for (const auto* list : {&launch.grid, &launch.block, &launch.cluster})
    texts.insert(texts.end(), list->begin(), list->end());
  if (launch.shared) texts.push_back(*launch.shared);
  for (const With& own : with)
    for (spec::CompiledText& text : own.value.all()) texts.push_back(std::move(text));
  return texts;
}

bool CompiledStep::alternates_with(const CompiledStep& next) const {
  return repeat && next.repeat && index == next.index && repeat->source().text == next.repeat->source().text;
}

void SpecTexts::add_addresses(const ValueTexts& value, const FieldTexts& field, const space::Config& config,
                              measure::ScalarArgument& to) const {
  const auto number = [&](const std::optional<spec::CompiledText>& text, std::int64_t usual) {
    return text ? integer_of(*text, config) : usual;
  };
  const auto refuse = [&](const std::string& why) {
    std::vector<const spec::CompiledText*> causes;
    for (const auto* one : {&field.offset, &field.stride, &field.entries})
      if (*one) causes.push_back(&**one);
    for (const spec::CompiledText& extent : field.buffer_shape) causes.push_back(&extent);
    reject(causes, config, field.field.at, title(value, field) + ": " + why);
  };
  const std::int64_t count = number(field.entries, static_cast<std::int64_t>(field.field.count));
  const std::int64_t offset = number(field.offset, 0), stride = number(field.stride, 0);
  if (count < 1 || count + static_cast<std::int64_t>(to.pointers.size()) > max_entries)
    refuse(fmt::format("{} addresses, and a table has 1 to {}", count, max_entries));
  double elements = 1;
  for (const spec::CompiledText& extent : field.buffer_shape)
    elements *= static_cast<double>(integer_of(extent, config));
  const double last = static_cast<double>(offset) + static_cast<double>(stride) * static_cast<double>(count - 1);
  if (offset < 0 || stride < 0 || last >= elements)
    refuse(fmt::format("its addresses reach element {:.0f} of '{}', which has {:.0f}", offset < 0 ? offset : last,
                       field.of->name, elements));
  const std::size_t buffer = spec::passed_number(spec, spec.args.at(static_cast<std::size_t>(field.of - args.data())));
  for (std::int64_t i = 0; i < count; ++i) {
    std::size_t at = field.field.at_byte + static_cast<std::size_t>(i) * sizeof(void*);
    if (to.in_memory) at = to.bytes.size(), to.bytes.resize(at + sizeof(void*));
    to.pointers.push_back({at, buffer, static_cast<std::uint64_t>(offset + i * stride) * size_of(field.of->dtype)});
  }
}

measure::ScalarArgument SpecTexts::bytes_of(const ValueTexts& value, const space::Config& config,
                                            const LoopIndex* index) const {
  const spec::ArgSpec& argument = *value.argument;
  measure::ScalarArgument made;
  made.in_memory = argument.kind == spec::ArgKind::table;
  made.bytes.resize(argument.bytes_by_value());
  if (!argument.contents.empty()) std::memcpy(made.bytes.data(), argument.contents.data(), made.bytes.size());
  for (const FieldTexts& field : value.fields) {
    if (field.of) {
      add_addresses(value, field, config, made);
      continue;
    }
    const std::size_t size = size_of(field.field.dtype);
    for (std::size_t i = 0; i < field.field.numbers(); ++i) {
      const spec::CompiledText& text = field.value[field.value.size() == 1 ? 0 : i];
      const Value number = value_of(text, config, index);
      const auto encoded = spec::encode_scalar(field.field.dtype, number);
      if (!encoded)
        reject({&text}, config, text.source().at,
               fmt::format("{}: {} does not fit {}", title(value, field),
                           text_and_value(text.source().text, space::shown_text(number)), to_string(field.field.dtype)),
               Limit::none, index);
      std::memcpy(made.bytes.data() + field.field.at_byte + i * size, encoded->data(), size);
    }
  }
  return made;
}

std::string SpecTexts::value_text(const ValueTexts& value, const space::Config& config, const LoopIndex* index) const {
  const auto text_of = [&](const spec::CompiledText& text) {
    try {
      return typed_text(value_of(text, config, index));
    } catch (const NoValue& failure) {
      return "(" + failure.complaint + ")";
    }
  };
  const spec::ArgSpec& argument = *value.argument;
  if (argument.kind == spec::ArgKind::scalar)
    return fmt::format("{} {} {}", argument.name, to_string(argument.dtype), text_of(value.fields.front().value[0]));
  std::vector<std::string> parts;
  if (!argument.contents.empty()) parts.push_back(base::sha256(argument.contents));
  for (const FieldTexts& field : value.fields) {
    const spec::FieldSpec& own = field.field;
    parts.push_back(field.of ? fmt::format("{} of {} {}", own.at_byte, own.of, own.count)
                             : fmt::format("{} {}x{} {}", own.at_byte, to_string(own.dtype), own.lanes, own.count));
    for (const spec::CompiledText& text : field.value) parts.back() += " " + text_of(text);
    for (const auto* one : {&field.offset, &field.stride, &field.entries})
      parts.back() += *one ? " " + text_of(**one) : " -";
  }
  return fmt::format("{} {} {} {}", argument.name, spec::kind_words.of(argument.kind), argument.value_bytes,
                     build::canonical_list(parts));
}

}  // namespace xtune::resolve
