// How [[args]] are read whose bytes xtune puts together. For read_kernel.cpp.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/spec/section.hpp"

namespace xtune::spec {

/// "f32x3": the element type and 2 to 4 lanes.
std::optional<std::pair<DType, std::uint32_t>> vector_type(const std::string& word);

/// The keys that only these kinds have, and all for the documentation.
std::vector<std::string> struct_keys();
std::vector<std::string> table_keys();
SectionKeys keys_of_values();

void read_vector(const Reader& reader, const TomlNode& item, ArgSpec& arg);
void read_struct(const Reader& reader, const TomlNode& item, ArgSpec& arg);
void read_table(const Reader& reader, const TomlNode& item, ArgSpec& arg);
/// fill = { like = "a", permute = [1, 0] }
void read_like(const Reader& reader, const TomlNode& fill, ArgSpec& arg);

// After all arguments are read, because they may name later ones.
void connect_addresses(const Reader& reader, const TomlNode& item, const ArgSpec& arg);
void connect_contents(const Reader& reader, const TomlNode& item, const ArgSpec& arg);

}  // namespace xtune::spec
