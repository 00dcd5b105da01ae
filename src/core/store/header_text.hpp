// Parts of the C++ headers that exports write: identifiers, literals, structures.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/space/value.hpp"

namespace xtune::store {

/// Makes a C++ identifier that is not in `used`, and adds it.
std::string identifier(std::string_view name, std::set<std::string>& used);
std::string string_literal(std::string_view text);
/// One line without a backslash, for a comment.
std::string in_comment(std::string_view text);
std::string header_number(double value);

/// In the order of Value's types: the later type also holds the values of the earlier ones.
enum class ValueKind { boolean, integer, real, text };

/// A member of a structure: the name in the store, as an identifier, and the type.
struct HeaderField {
  std::string name, word;
  ValueKind kind;
};
/// lists: not empty, all with the same names. The type of a field holds the values of all lists.
std::vector<HeaderField> header_fields(const std::vector<const Bindings*>& lists);

std::string header_literal(const Value& value, ValueKind kind);
/// "{64LL, true}"
std::string header_initializer(const Bindings& bindings, const std::vector<HeaderField>& fields);
/// "struct Config {...};" and a line end.
std::string header_structure(const char* name, const std::vector<HeaderField>& fields);

/// Whether two lists have the same names.
bool same_names(const Bindings& a, const Bindings& b);

}  // namespace xtune::store
