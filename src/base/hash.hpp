// SHA-256, through Crypto++.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace xtune {

/// Lower-case hex, 64 characters, as sha256sum prints it.
std::string sha256(std::string_view bytes);

}  // namespace xtune
