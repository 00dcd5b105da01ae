// Which element type of a spec a C++ type is.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "core/outline/tokens.hpp"
#include "xtune/dtype.hpp"

namespace xtune::outline {

/// float4 is four f32.
struct ElementType {
  DType type = DType::f32;
  int lanes = 1;
};

/// The names that a source gives to types: using, typedef, and macros whose bodies are types. The first of each counts.
class TypeNames {
 public:
  explicit TypeNames(const TokenizedSource& source);
  /// The name stands for this type from now on: of a template parameter.
  void set(const std::string& name, const std::string& type) { names_[name] = type; }

  /// nullopt: none that a spec can name.
  std::optional<ElementType> element_type(const std::string& type) const;

 private:
  std::map<std::string, std::string, std::less<>> names_;
};

}  // namespace xtune::outline
