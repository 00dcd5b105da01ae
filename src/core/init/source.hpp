// The __global__ functions of a source, the element types of their arguments, and its macros.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/build/tokens.hpp"
#include "core/space/value.hpp"
#include "xtune/dtype.hpp"

namespace xtune::init {

using build::closing;
using build::Directive;
using build::part;
using build::split_arguments;
using build::text_of;
using build::Token;
using build::tokenize;
using build::TokenizedSource;
using build::Tokens;
using build::tokens_of;

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
  bool has_rows = false;  ///< float x[][16]: an index is that of a row
};

struct KernelFunction {
  std::string name;
  std::string qualified;  ///< with its namespaces
  std::size_t line = 0;
  std::vector<TemplateParameter> templates;
  std::vector<FunctionArgument> arguments;
  std::vector<Tokens> launch_bounds;  ///< the arguments of __launch_bounds__, or of a macro that is named like it
  Tokens declared;                    ///< its arguments as they are written
  Tokens body;                        ///< between its braces
  std::size_t first_line = 0;         ///< of __global__
  bool only = true;                   ///< no other definition has its name
  std::size_t overload = 0;           ///< the line of another one with other arguments; 0: none. No templates
};

/// "const float* x"
FunctionArgument argument_of(const Tokens& written);
std::string text_of(const FunctionArgument& argument);

/// Definitions, in their order; of several of one name (overloads, branches of #if) the first. Declarations, explicit
/// specialisations and instantiations are omitted.
std::vector<KernelFunction> kernel_functions(const Tokens& tokens);

/// That the kernel is overloaded, outside of #if: no entry can name it, whatever the compiler; empty: it is not.
std::string overload_complaint(const TokenizedSource& source, const KernelFunction& kernel);

/// float4 is four f32.
struct ElementType {
  DType type = DType::f32;
  int lanes = 1;
};

struct StructField {
  std::string name;
  std::string type;  ///< as FunctionArgument::type
  int pointers = 0;
  std::uint64_t count = 1;  ///< of an array
};

void add_source(TokenizedSource& all, const TokenizedSource& more);
/// All identifiers, also those of directives.
std::set<std::string> identifiers_of(const TokenizedSource& source);

/// What a source calls the type.
std::string cxx_name(DType type);

/// The names that a source gives to types: using, typedef, enum, and macros whose bodies are types. A name with two
/// meanings, as in the branches of #if, has none.
class TypeNames {
 public:
  explicit TypeNames(const TokenizedSource& source);
  /// The name stands for this type from now on, or for an unknown one if it is empty: of a template parameter.
  void set(const std::string& name, const std::string& type) { names_[name] = type; }

  /// A single word that the source does not declare, or not in one way only: it may be any type.
  bool is_open(const std::string& type) const;
  /// nullopt: none that a spec can name. An enum is its integers.
  std::optional<ElementType> element_type(const std::string& type) const;
  /// Whether its definition shows an enum of this name.
  bool is_enum(const std::string& type) const { return enums_.contains(type); }
  /// Of a struct whose only definition shows all that C++ makes of it, but for the types' own sizes; nullptr: of
  /// another type, or not known for sure.
  const std::vector<StructField>* fields_of(const std::string& type) const;

 private:
  void add(const std::string& name, const std::string& type);
  void add_enum(const Tokens& tokens, std::size_t at);
  void add_struct(const TokenizedSource& source, std::size_t at);
  /// The type behind names of types.
  std::string resolved(const std::string& type) const;
  std::map<std::string, std::string, std::less<>> names_;
  std::set<std::string, std::less<>> enums_, declared_;                   ///< declared_: structs, classes and unions
  std::map<std::string, std::vector<StructField>, std::less<>> structs_;  ///< without fields: not known for sure
};

// The macros of a source that a spec's parameters can set, and the values to try (macros.cpp).

struct OpenMacro {
  enum class Kind {
    undefined,  ///< used, and defined nowhere
    defaulted,  ///< #ifndef NAME, #define NAME 16: a parameter replaces the value
    fixed       ///< #define NAME 16: replaces the value of a parameter
  };
  std::string name;
  Kind kind = Kind::undefined;
  std::string value;          ///< the number of its definition; empty: none
  std::size_t line = 0;       ///< of its definition or first use
  bool is_condition = false;  ///< only conditions (#if, if, ?:) use it: a choice
};

/// A __constant__ variable that the source gives no value.
struct ConstantVariable {
  std::string name, type;
  std::vector<Tokens> extents;  ///< of an array
  std::size_t line = 0;
};

/// What a source and the user's headers say of names.
struct SourceNames {
  std::set<std::string> words;                ///< all identifiers of the source itself
  std::map<std::string, Tokens> expressions;  ///< what macros without arguments and constants stand for
  std::vector<OpenMacro> macros;              ///< of the source itself, in their order
  std::vector<ConstantVariable> constants;    ///< of the source itself
};

/// Names that code for the device uses as values and that neither the source nor a header declares: those of capital
/// letters, and others where only a constant can be; and its macros whose definition is a number. Macros with
/// arguments, those of the C library and of CUDA and HIP are none.
SourceNames source_names(const TokenizedSource& source, const std::vector<TokenizedSource>& headers,
                         const TypeNames& types, const std::vector<KernelFunction>& kernels);

/// Around a default: half and twice of it; 0 and 1 for a switch. None without a default. is_condition: the source asks
/// only whether it is zero.
std::vector<Value> plausible_values(std::optional<std::int64_t> value, bool is_condition);

/// "16", "0x10", "16u"; nullopt: no integer that fits.
std::optional<std::int64_t> integer_of(const std::string& literal);

/// "BlockSize" as "BLOCK_SIZE".
std::string macro_case(const std::string& name);

}  // namespace xtune::init
