// Texts of names and values: to compare, and for messages.
#pragma once

#include <string>

#include "core/space/value.hpp"

namespace xtune::space {

/// "M=4096 N=4096", by name; "" for a kernel without problem sizes. Holds the texts themselves, to compare and look up.
std::string bindings_text(const Bindings& bindings);

/// The same for messages: on one line, with control characters escaped.
std::string shown_text(const Bindings& bindings);
/// to_text for messages, likewise.
std::string shown_text(const Value& value);

}  // namespace xtune::space
