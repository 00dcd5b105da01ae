// Reads values in the plain form that nearly every record has, without a tree of JSON in between.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/space/value.hpp"

namespace xtune::store {

/// The value of a JSON string with its quotes, number or boolean in plain form. nullopt: it takes a JSON reader, or it
/// is damaged.
std::optional<Value> plain_value(std::string_view json);
/// Appends the to_text of such a value, which plain_value can read.
void append_value_text(std::string_view json, std::string& text);

/// Takes a flat JSON object whose members are sorted by name and plain apart: "A","B" and 1,true. False: it takes a
/// JSON reader, and the texts are worthless.
bool split_plain(std::string_view object, std::string& names, std::string& values);

/// What bindings_from_json would read of a flat JSON object, and its bindings_text. nullopt: it takes a JSON reader, or
/// it is damaged.
struct PlainBindings {
  Bindings values;
  std::string text;
};
std::optional<PlainBindings> plain_bindings(std::string_view object);

/// Appends the bindings_text of a flat JSON object whose members are sorted by name. False: it takes a JSON reader, and
/// text is worthless.
bool append_plain_text(std::string_view object, std::string& text);

/// Appends the numbers of a JSON list of finite numbers. False: a JSON reader tells.
bool plain_numbers(std::string_view list, std::vector<double>& numbers);

/// Whether it certainly is a JSON list of finite numbers, or an object of integers. False: a JSON reader tells.
bool is_number_list(std::string_view list);
bool is_integer_object(std::string_view object);

}  // namespace xtune::store
