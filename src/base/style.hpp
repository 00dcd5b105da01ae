// Marks in a text that a terminal shows as colours.
#pragma once

#include <string>
#include <string_view>

namespace xtune::base {

enum class Style { best, error, warning, dim };

/// The text between marks: noncharacters of Unicode (U+FDD0 to U+FDEF), which are valid UTF-8 and stand in no text that
/// is meant for others.
std::string styled(Style style, std::string_view text);

/// The text with its marks as the codes of a terminal, or without them. It ends without a style.
std::string painted(std::string_view text, bool colours);

}  // namespace xtune::base
