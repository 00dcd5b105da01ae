// Configurations are kept as their values; nearly all have the same names. Bytes have the order of this machine.
#include <algorithm>
#include <cstring>
#include <map>
#include <utility>
#include <variant>

#include "core/space/value.hpp"
#include "core/store/index.hpp"
#include "system/files.hpp"

namespace xtune::store {

namespace {

/// By character; 255: not a digit.
constexpr auto hex_digits = [] {
  std::array<unsigned char, 256> values{};
  values.fill(255);
  for (unsigned char i = 0; i < 10; ++i) values['0' + i] = i;
  for (unsigned char i = 0; i < 6; ++i) values['a' + i] = static_cast<unsigned char>(10 + i);
  return values;
}();

template <class Number>
void append_number(std::string& bytes, Number number) {
  bytes.append(reinterpret_cast<const char*>(&number), sizeof number);
}

template <class Number>
Number take_number(std::string_view& bytes) {
  Number number{};
  if (bytes.size() < sizeof number) throw RecordsChanged(ErrorKind::io, "an index of records is damaged");
  std::memcpy(&number, bytes.data(), sizeof number);
  bytes.remove_prefix(sizeof number);
  return number;
}

void append_text(std::string& bytes, std::string_view text) {
  append_number(bytes, static_cast<std::uint32_t>(text.size()));
  bytes += text;
}

std::string_view take_text(std::string_view& bytes) {
  const auto size = take_number<std::uint32_t>(bytes);
  const std::string_view text = bytes.substr(0, size);
  bytes.remove_prefix(text.size());
  return text;
}

void append_value(std::string& bytes, const Value& value) {
  bytes += static_cast<char>(value.index());
  if (const auto* const text = std::get_if<std::string>(&value))
    append_text(bytes, *text);
  else if (const auto* const integer = std::get_if<std::int64_t>(&value))
    append_number(bytes, *integer);
  else if (const auto* const number = std::get_if<double>(&value))
    append_number(bytes, *number);
  else
    bytes += static_cast<char>(std::get<bool>(value));
}

Value take_value(std::string_view& bytes) {
  switch (take_number<char>(bytes)) {
    case 0:
      return take_number<char>(bytes) != 0;
    case 1:
      return take_number<std::int64_t>(bytes);
    case 2:
      return take_number<double>(bytes);
    default:
      return take_text(bytes);
  }
}

}  // namespace

KeyDigest::KeyDigest(std::string_view key) {
  constexpr std::size_t hash_length = 64;
  if (key.empty()) return;
  const auto decode = [&](std::string_view hex) {
    unsigned bad = 0;
    for (std::size_t i = 0; i < bytes_.size(); ++i) {
      const unsigned high = hex_digits[static_cast<unsigned char>(hex[2 * i])],
                     low = hex_digits[static_cast<unsigned char>(hex[2 * i + 1])];
      bad |= high | low;
      bytes_[i] = static_cast<unsigned char>(high << 4 | low);
    }
    return bad < 16;
  };
  if (key.size() != hash_length || !decode(key)) decode(base::sha256(key));
}

std::string KeyDigest::hex() const {
  constexpr char digits[] = "0123456789abcdef";
  std::string text;
  for (const unsigned char byte : bytes_) text += {digits[byte >> 4], digits[byte & 15]};
  return text;
}

KeyDigest KeyDigest::of_bytes(std::string_view bytes) {
  KeyDigest key;
  std::memcpy(&key.bytes_, bytes.data(), std::min(bytes.size(), key.bytes_.size()));
  return key;
}

void encode_bindings(const Bindings& bindings, std::string& names, std::string& values) {
  names.clear(), values.clear();
  for (const auto& [name, value] : bindings) append_text(names, name), append_value(values, value);
}

Bindings decode_bindings(std::string_view names, std::string_view values) {
  Bindings bindings;
  while (!names.empty()) {
    const std::string_view name = take_text(names);
    bindings.emplace_hint(bindings.end(), name, take_value(values));
  }
  return bindings;
}

ConfigForm::ConfigForm(const std::vector<space::Parameter>& parameters) {
  std::map<std::string_view, std::size_t> places;
  for (const space::Parameter& parameter : parameters) places.emplace(parameter.name, places.size());
  for (const auto& [name, place] : places) append_text(names_, name), places_.push_back(place);
}

std::string_view ConfigForm::encode(const space::Config& config) {
  values_.clear();
  for (const std::size_t place : places_) append_value(values_, config.at(place));
  return values_;
}

bool ConfigForm::decode(std::string_view names, std::string_view values, space::Config& config) const {
  if (names != names_) return false;
  config.resize(places_.size());
  for (const std::size_t place : places_) config[place] = take_value(values);
  return true;
}

std::string config_text(const StoredConfig& config) { return space::bindings_text(config_bindings(config)); }

Bindings config_bindings(const StoredConfig& config) { return decode_bindings(config.names(), config.values()); }

namespace {

[[noreturn]] void throw_changed(const RecordSource& source) {
  discard_index(source);
  throw RecordsChanged(ErrorKind::io, source.name + ": it has changed since it was read; load it again");
}

}  // namespace

Record read_record(const RecordSource& source, std::uint64_t offset, std::uint64_t bytes) try {
  RecordLine read = read_record_line(system::read_file_part(source.path, offset, bytes));
  if (read.kind != RecordLine::Kind::record) throw_changed(source);
  return std::move(*read.record);
} catch (const Error& error) {
  throw RecordsChanged(error.kind(), error.what());
}

Record read_record(const StoredConfig& config) {
  Record record = read_record(*config.block->source, config.offset(), config.bytes);
  if (KeyDigest(record.key) != config.key) throw_changed(*config.block->source);
  return record;
}

}  // namespace xtune::store
