// Marks in a text that a terminal shows as colours.
#pragma once

#include <string>
#include <string_view>

namespace xtune::base {

enum class Style { best, error, warning, dim };

/// The text between marks: noncharacters of Unicode (U+FDD0 to U+FDEF), which are valid UTF-8 and do not occur in text
/// that is meant for exchange.
std::string styled(Style style, std::string_view text);

/// The text with its marks replaced by the codes of a terminal, or removed. The end of the text has no style.
std::string painted(std::string_view text, bool colours);

}  // namespace xtune::base
