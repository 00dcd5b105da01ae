// Names and values as people read them.
#include "core/space/bindings_text.hpp"

namespace xtune::space {

std::string bindings_text(const Bindings& bindings) {
  std::string text;
  for (const auto& [name, value] : bindings) text += (text.empty() ? "" : " ") + name + "=" + to_text(value);
  return text;
}

}  // namespace xtune::space
