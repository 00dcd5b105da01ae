// The macros of a source that a spec's parameters can set, and the values to try.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/init/source.hpp"
#include "core/space/value.hpp"

namespace xtune::init {

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
