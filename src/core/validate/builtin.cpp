// The registry of builtins, the checks of their calls, and the transpose.
#include "core/validate/builtin.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/text.hpp"
#include "system/parallel.hpp"
#include "xtune/error.hpp"

namespace xtune::validate {

namespace builtin {

void fail(const std::string& message) { throw Error(ErrorKind::invalid_argument, "reference builtin " + message); }

const ArrayView* find_array(const BuiltinCall& call, const std::string& role) {
  const auto found = call.arrays.find(role);
  return found == call.arrays.end() ? nullptr : &found->second;
}

double number(const BuiltinCall& call, const std::string& name, double otherwise) {
  const auto found = call.scalars.find(name);
  if (found == call.scalars.end()) return otherwise;
  if (const auto known = space::number_of(found->second)) return *known;
  fail(fmt::format("scalar '{}' is a {}, where a number is needed", name, space::type_name(found->second)));
}

bool flag(const BuiltinCall& call, const std::string& name) {
  const auto found = call.scalars.find(name);
  if (found == call.scalars.end()) return false;
  if (const auto* boolean = std::get_if<bool>(&found->second)) return *boolean;
  if (const auto* integer = std::get_if<std::int64_t>(&found->second)) return *integer != 0;
  fail(fmt::format("scalar '{}' is a {}, where true or false is needed", name, space::type_name(found->second)));
}

std::int64_t integer(const BuiltinCall& call, const std::string& name, std::int64_t otherwise) {
  const auto found = call.scalars.find(name);
  if (found == call.scalars.end()) return otherwise;
  const double value = number(call, name, 0);
  constexpr double most = 0x1p31;
  if (value != std::floor(value) || std::abs(value) > most)
    fail(fmt::format("scalar '{}' is {}, where an integer is needed", name, base::one_line(to_text(found->second))));
  return static_cast<std::int64_t>(value);
}

std::string word(const BuiltinCall& call, const std::string& name, const std::string& otherwise) {
  const auto found = call.scalars.find(name);
  if (found == call.scalars.end()) return otherwise;
  return to_text(found->second);
}

std::size_t axis_of(const BuiltinCall& call, const char* builtin, std::size_t rank, std::int64_t otherwise) {
  const std::int64_t axis = integer(call, "axis", otherwise), dimensions = static_cast<std::int64_t>(rank);
  if (axis < -dimensions || axis >= dimensions)
    fail(fmt::format("{}: axis is {}; x has {} dimensions", builtin, axis, dimensions));
  return static_cast<std::size_t>(axis < 0 ? axis + dimensions : axis);
}

std::vector<double> widen(const ArrayView& array) {
  std::vector<double> values(array.layout->elements());
  const std::size_t size = size_of(array.layout->dtype);
  system::parallel_for(values.size(), std::uint64_t{1} << 16, [&](std::uint64_t begin, std::uint64_t end) {
    spec::decode(array.layout->dtype, array.data.data() + begin * size, std::span(values).subspan(begin, end - begin));
  });
  return values;
}

std::vector<double> widen_imaginary(const ArrayView& array) {
  const DType type = array.layout->dtype, part = spec::part_of(type);
  std::vector<double> values(array.layout->elements());
  if (!spec::is_complex(type)) return values;
  system::parallel_for(values.size(), std::uint64_t{1} << 16, [&](std::uint64_t begin, std::uint64_t end) {
    for (std::uint64_t i = begin; i < end; ++i)
      values[i] = spec::decode(part, array.data.data() + i * size_of(type) + size_of(part));
  });
  return values;
}

double usual_size(const ArrayView& array) {
  const DType type = array.layout->dtype;
  return std::min(root_mean_square(type, array.data), 2 * typical_magnitude(type, array.data));
}

void encode_result(DType type, double value, std::byte* element) noexcept {
  const double largest = type == DType::f8e4m3 ? 448.0 : type == DType::f8e5m2 ? 57344.0 : 0;
  spec::encode(type, largest > 0 && !std::isnan(value) ? std::clamp(value, -largest, largest) : value, element);
}

ResultEncoder::ResultEncoder(const BuiltinCall& call)
    : type_(call.output->dtype), wraps_(!spec::is_floating(type_) && type_ != DType::boolean && size_of(type_) < 8) {
  for (const auto& [role, array] : call.arrays) wraps_ = wraps_ && !spec::is_floating(array.layout->dtype);
  for (const auto& [name, scalar] : call.scalars)
    if (const auto* value = std::get_if<double>(&scalar)) wraps_ = wraps_ && *value == std::floor(*value);
}

void ResultEncoder::operator()(double value, std::byte* element) const {
  if (!wraps_) return encode_result(type_, value, element);
  if (!(std::abs(value) < 0x1p53))
    fail(fmt::format("a result is {}, and only integers below 2^53 are exact: choose smaller inputs", value));
  const auto whole = static_cast<std::int64_t>(value);
  std::memcpy(element, &whole, size_of(type_));
}

static void check_transpose(const BuiltinCall& call) {
  const ArrayView& x = *find_array(call, "x");
  const ArgumentLayout& out = *call.output;
  if (x.layout->shape.size() != 2 || out.shape.size() != 2 || x.layout->shape[0] != out.shape[1] ||
      x.layout->shape[1] != out.shape[0])
    fail(fmt::format("transpose: x is {} and the output {}; they must be [M, N] and [N, M]", text_of(*x.layout),
                     text_of(out)));
  if (x.layout->dtype != out.dtype && spec::is_complex(x.layout->dtype))
    fail(fmt::format("transpose: x is {} and the output {}; complex numbers are not converted", text_of(*x.layout),
                     text_of(out)));
}

std::vector<std::byte> transpose(const BuiltinCall& call) {
  check_transpose(call);
  const ArrayView& x = *find_array(call, "x");
  const ArgumentLayout& out = *call.output;
  const std::uint64_t rows = x.layout->shape[0], columns = x.layout->shape[1];
  const std::size_t in_size = size_of(x.layout->dtype), out_size = size_of(out.dtype);
  const bool same = x.layout->dtype == out.dtype;
  std::vector<std::byte> result(out.bytes());
  const ResultEncoder encode(call);
  constexpr std::uint64_t tile = 32;
  system::parallel_for(columns, tile, [&](std::uint64_t begin, std::uint64_t end) {
    for (std::uint64_t row0 = 0; row0 < rows; row0 += tile)
      for (std::uint64_t column = begin; column < end; ++column)
        for (std::uint64_t row = row0; row < std::min(rows, row0 + tile); ++row) {
          const std::byte* from = x.data.data() + (row * columns + column) * in_size;
          std::byte* to = result.data() + (column * rows + row) * out_size;
          same ? static_cast<void>(std::memcpy(to, from, in_size)) : encode(spec::decode(x.layout->dtype, from), to);
        }
  });
  return result;
}

// Bits that are moved do not change; a conversion rounds once.
ResultFacts transpose_facts(const BuiltinCall& call) {
  check_transpose(call);
  return {find_array(call, "x")->layout->dtype == call.output->dtype ? std::uint64_t{0} : std::uint64_t{1}, 0};
}

}  // namespace builtin

namespace {

struct Entry {
  const char* name;
  BuiltinSignature signature;
  std::vector<std::byte> (*run)(const BuiltinCall&);
  ResultFacts (*facts)(const BuiltinCall&);
  bool takes_complex = false;
};

std::vector<std::string> parts_of(std::string_view text, char separator) {
  return text.empty() ? std::vector<std::string>() : base::split(text, separator);
}

BuiltinSignature signature_of(const char* required, const char* optional, const char* scalars) {
  BuiltinSignature signature{parts_of(required, ' '), parts_of(optional, ' '), parts_of(scalars, ' '), {}};
  for (std::string& scalar : signature.scalars)
    if (const std::size_t end = scalar.find('='); end != std::string::npos) {
      const std::string words = scalar.substr(end + 1);
      scalar.resize(end);
      signature.words[scalar] = parts_of(words, '|');
    }
  return signature;
}

const std::vector<Entry>& entries() {
  static const std::vector<Entry> list{
#define BUILTIN(name, required, optional, scalars, takes_complex) \
  {#name, signature_of(required, optional, scalars), builtin::name, builtin::name##_facts, takes_complex},
#include "core/validate/builtins.def"
#undef BUILTIN
  };
  return list;
}

const Entry* find_entry(std::string_view name) noexcept {
  for (const Entry& entry : entries())
    if (entry.name == name) return &entry;
  return nullptr;
}

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// Arrays may be real if the output is complex, but not the other way round.
void check_complex(const Entry& entry, const BuiltinCall& call) {
  const bool complex_output = spec::is_complex(call.output->dtype);
  if (complex_output && !entry.takes_complex)
    builtin::fail(fmt::format("{}: it computes only with real numbers, and the output is {}", entry.name,
                              builtin::text_of(*call.output)));
  for (const auto& [role, array] : call.arrays)
    if (spec::is_complex(array.layout->dtype) && !complex_output)
      builtin::fail(fmt::format("{}: array '{}' is {}, but the output is real: {}", entry.name, role,
                                builtin::text_of(*array.layout), builtin::text_of(*call.output)));
}

void check_call(const Entry& entry, const BuiltinCall& call, bool has_data) {
  if (!call.output) builtin::fail(fmt::format("{}: it has no output", entry.name));
  if (has_data) layout_bytes(*call.output);
  check_complex(entry, call);
  for (const std::string& role : entry.signature.required)
    if (!builtin::find_array(call, role)) builtin::fail(fmt::format("{}: it needs an array '{}'", entry.name, role));
  for (const auto& [role, array] : call.arrays) {
    if (!contains(entry.signature.required, role) && !contains(entry.signature.optional, role))
      builtin::fail(fmt::format("{}: it has no array '{}'{}", entry.name, role,
                                base::did_you_mean(role, entry.signature.required)));
    if (has_data && array.data.size() != layout_bytes(*array.layout))
      builtin::fail(fmt::format("{}: array '{}' has {} bytes, where {} has {}", entry.name, role, array.data.size(),
                                builtin::text_of(*array.layout), array.layout->bytes()));
  }
  for (const auto& [name, value] : call.scalars) {
    if (!contains(entry.signature.scalars, name))
      builtin::fail(fmt::format("{}: it has no scalar '{}'{}", entry.name, name,
                                base::did_you_mean(name, entry.signature.scalars)));
    const auto words = entry.signature.words.find(name);
    if (words == entry.signature.words.end() || contains(words->second, to_text(value))) continue;
    builtin::fail(fmt::format("{}: {} is '{}'; known: {}", entry.name, name, base::one_line(to_text(value)),
                              fmt::join(words->second, ", ")));
  }
}

const Entry& checked_entry(std::string_view name, const BuiltinCall& call, bool has_data = true) {
  const Entry* entry = find_entry(name);
  if (!entry)
    builtin::fail(fmt::format("'{}' is unknown{}; known: {}", name, base::did_you_mean(name, builtin_names()),
                              fmt::join(builtin_names(), ", ")));
  check_call(*entry, call, has_data);
  return *entry;
}

}  // namespace

std::vector<std::string> builtin_names() {
  std::vector<std::string> names;
  for (const Entry& entry : entries()) names.emplace_back(entry.name);
  return names;
}

const BuiltinSignature* builtin_signature(std::string_view name) noexcept {
  const Entry* entry = find_entry(name);
  return entry ? &entry->signature : nullptr;
}

std::vector<std::byte> run_builtin(std::string_view name, const BuiltinCall& call) {
  return checked_entry(name, call).run(call);
}

ResultFacts builtin_facts(std::string_view name, const BuiltinCall& call) {
  return checked_entry(name, call).facts(call);
}

void check_builtin(std::string_view name, BuiltinCall call) {
  constexpr std::uint64_t max_bytes = std::uint64_t{1} << 26;
  const Entry& entry = checked_entry(name, call, false);
  // Facts read the elements of optional arrays, such as weights; of the others only how large they usually are.
  std::map<std::string, std::vector<std::byte>> zeros;
  for (auto& [role, array] : call.arrays) {
    if (contains(entry.signature.required, role)) continue;
    if (array.layout->bytes() > max_bytes) return;
    array.data = zeros[role] = std::vector<std::byte>(array.layout->bytes());
  }
  entry.facts(call);
}

}  // namespace xtune::validate
