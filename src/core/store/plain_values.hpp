// Reads values in the plain form of nearly all records, without building a JSON tree.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/space/value.hpp"

namespace xtune::store {

/// The value of a JSON string with its quotes, a number or a boolean in plain form. nullopt: it needs a JSON reader, or
/// it is damaged.
std::optional<Value> plain_value(std::string_view json);
/// Appends the to_text of a value that plain_value can read.
void append_value_text(std::string_view json, std::string& text);

/// Splits a flat JSON object with plain members sorted by name into "A","B" and 1,true. False: it needs a JSON reader,
/// and the texts are invalid.
bool split_plain(std::string_view object, std::string& names, std::string& values);

/// The result of bindings_from_json for a flat JSON object, and its bindings_text. nullopt: it needs a JSON reader, or
/// it is damaged.
struct PlainBindings {
  Bindings values;
  std::string text;
};
std::optional<PlainBindings> plain_bindings(std::string_view object);

/// Appends the bindings_text of a flat JSON object whose members are sorted by name. False: it needs a JSON reader, and
/// text is invalid.
bool append_plain_text(std::string_view object, std::string& text);

/// Appends the numbers of a JSON list of finite numbers. False: it needs a JSON reader.
bool plain_numbers(std::string_view list, std::vector<double>& numbers);

/// Whether it certainly is a JSON list of finite numbers, or an object of integers. False: a JSON reader must check.
bool is_number_list(std::string_view list);
bool is_integer_object(std::string_view object);

}  // namespace xtune::store
