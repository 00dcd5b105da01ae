// Names and values as text: for comparisons and for messages.
#pragma once

#include <string>

#include "core/space/value.hpp"

namespace xtune::space {

/// "M=4096 N=4096", by name; "" for a kernel without problem sizes. Contains texts unchanged, for comparison and
/// lookup.
std::string bindings_text(const Bindings& bindings);

/// The same for messages: on one line, with control characters escaped.
std::string shown_text(const Bindings& bindings);
/// to_text for messages: on one line, with control characters escaped.
std::string shown_text(const Value& value);

}  // namespace xtune::space
