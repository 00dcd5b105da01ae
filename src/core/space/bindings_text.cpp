// Texts of names and values.
#include "core/space/bindings_text.hpp"

#include "base/text.hpp"

namespace xtune::space {

std::string bindings_text(const Bindings& bindings) {
  std::string text;
  for (const auto& [name, value] : bindings) text += (text.empty() ? "" : " ") + name + "=" + to_text(value);
  return text;
}

std::string shown_text(const Bindings& bindings) { return base::one_line(bindings_text(bindings)); }

std::string shown_text(const Value& value) { return base::one_line(to_text(value)); }

}  // namespace xtune::space
