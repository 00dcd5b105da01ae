// Names bound to values, in lists of fields (base/json_fields.hpp).
#pragma once

#include "base/json_fields.hpp"
#include "core/space/value.hpp"

namespace xtune::space {

inline constexpr base::fields::Through bindings_form{[](const Bindings& value) { return to_json(value); },
                                                     bindings_from_json};

}  // namespace xtune::space
