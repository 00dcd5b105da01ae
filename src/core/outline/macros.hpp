// The macros of a source that a spec's parameters can set.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/outline/element_type.hpp"
#include "core/outline/kernel_function.hpp"
#include "core/outline/tokens.hpp"

namespace xtune::outline {

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

/// Names of capital letters that the source uses as values and that neither it nor a header declares, and its macros
/// whose definition is a number. Macros with arguments, those of the C library and of CUDA and HIP are none.
SourceNames source_names(const TokenizedSource& source, const std::vector<TokenizedSource>& headers,
                         const TypeNames& types, const std::vector<KernelFunction>& kernels);

}  // namespace xtune::outline
