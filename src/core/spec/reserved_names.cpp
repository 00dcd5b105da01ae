// Names that a parameter of a kernel cannot have: as macros they would break every kernel.
#include <algorithm>
#include <array>

#include "core/spec/reader.hpp"

namespace xtune::spec {

namespace {

// ISO C++20, tables 5 and 6 [lex.key]; without identifiers that have a meaning only in some contexts.
constexpr std::array keywords{
    "alignas",   "alignof",  "and",        "and_eq",    "asm",          "auto",          "bitand",
    "bitor",     "bool",     "break",      "case",      "catch",        "char",          "char16_t",
    "char32_t",  "char8_t",  "class",      "co_await",  "co_return",    "co_yield",      "compl",
    "concept",   "const",    "const_cast", "consteval", "constexpr",    "constinit",     "continue",
    "decltype",  "default",  "delete",     "do",        "double",       "dynamic_cast",  "else",
    "enum",      "explicit", "export",     "extern",    "false",        "float",         "for",
    "friend",    "goto",     "if",         "inline",    "int",          "long",          "mutable",
    "namespace", "new",      "noexcept",   "not",       "not_eq",       "nullptr",       "operator",
    "or",        "or_eq",    "private",    "protected", "public",       "register",      "requires",
    "return",    "short",    "signed",     "sizeof",    "static",       "static_assert", "static_cast",
    "struct",    "switch",   "template",   "this",      "thread_local", "throw",         "true",
    "try",       "typedef",  "typeid",     "typename",  "union",        "unsigned",      "using",
    "virtual",   "void",     "volatile",   "wchar_t",   "while",        "xor",           "xor_eq",
};

// CUDA C++ Programming Guide, "Built-in Variables" and "Built-in Vector Types"; HIP has the same. x, y and z are the
// members of each of them.
constexpr std::array builtins{"threadIdx", "blockIdx", "blockDim", "gridDim", "warpSize",
                              "dim3",      "uint3",    "x",        "y",       "z"};

// CUDA C++ Programming Guide, "Execution Space Specifiers" and the memory space specifiers.
constexpr std::array specifiers{"__global__",   "__device__",      "__host__",          "__shared__",
                                "__constant__", "__managed__",     "__launch_bounds__", "__restrict__",
                                "__noinline__", "__forceinline__", "__syncthreads"};

template <class Names>
bool contains(const Names& names, std::string_view name) noexcept {
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

std::string_view reserved_meaning(std::string_view name) noexcept {
  if (contains(keywords, name)) return "a word of C++";
  if (contains(builtins, name)) return "a built-in name of CUDA and HIP";
  if (contains(specifiers, name)) return "a word of CUDA and HIP";
  return {};
}

}  // namespace xtune::spec
