// The __global__ functions of a source, and the element types of their arguments.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/outline/tokens.hpp"
#include "xtune/dtype.hpp"

namespace xtune::outline {

struct TemplateParameter {
  std::string type;  ///< "int", "bool", "Mode"; "typename" of a type
  std::string name;  ///< may be empty
  std::string default_value;
  bool is_pack = false;  ///< typename... Ts
  bool is_type() const { return type == "typename"; }
};

struct FunctionArgument {
  std::string type;  ///< without const, references and pointers: "unsigned int", "thrust::complex<float>"
  std::string name;  ///< may be empty
  int pointers = 0;
  bool is_const = false;  ///< of a pointer: what it points to
  bool is_reference = false;
};

struct KernelFunction {
  std::string name;
  std::string qualified;  ///< with its namespaces
  std::size_t line = 0;
  std::vector<TemplateParameter> templates;
  std::vector<FunctionArgument> arguments;
  std::vector<Tokens> launch_bounds;  ///< the arguments of __launch_bounds__, or of a macro that is named like it
  Tokens body;                        ///< between its braces
};

/// Definitions, in their order; of several of one name (overloads, branches of #if) the first. Declarations, explicit
/// specialisations and instantiations are omitted.
std::vector<KernelFunction> kernel_functions(const Tokens& tokens);

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
