// CUDA's, HIP's and <xtune/narrow.cuh>'s names beside those of C++.
#include "core/outline/element_type.hpp"

#include <array>
#include <utility>

namespace xtune::outline {

namespace {

constexpr std::array<std::pair<std::string_view, DType>, 68> known_types{{
    {"float", DType::f32},
    {"double", DType::f64},
    {"bool", DType::boolean},
    {"char", DType::i8},
    {"signed char", DType::i8},
    {"unsigned char", DType::u8},
    {"short", DType::i16},
    {"unsigned short", DType::u16},
    {"int", DType::i32},
    {"signed", DType::i32},
    {"signed int", DType::i32},
    {"unsigned", DType::u32},
    {"unsigned int", DType::u32},
    {"long", DType::i64},
    {"long int", DType::i64},
    {"unsigned long", DType::u64},
    {"unsigned long int", DType::u64},
    {"long unsigned int", DType::u64},
    {"long long", DType::i64},
    {"long long int", DType::i64},
    {"unsigned long long", DType::u64},
    {"unsigned long long int", DType::u64},
    {"int8_t", DType::i8},
    {"int16_t", DType::i16},
    {"int32_t", DType::i32},
    {"int64_t", DType::i64},
    {"uint8_t", DType::u8},
    {"uint16_t", DType::u16},
    {"uint32_t", DType::u32},
    {"uint64_t", DType::u64},
    {"size_t", DType::u64},
    {"ptrdiff_t", DType::i64},
    {"intptr_t", DType::i64},
    {"uintptr_t", DType::u64},
    {"byte", DType::u8},
    {"uchar", DType::u8},
    {"ushort", DType::u16},
    {"uint", DType::u32},
    {"ulong", DType::u64},
    {"half", DType::f16},
    {"__half", DType::f16},
    {"_Float16", DType::f16},
    {"float16_t", DType::f16},
    {"bfloat16", DType::bf16},
    {"nv_bfloat16", DType::bf16},
    {"__nv_bfloat16", DType::bf16},
    {"hip_bfloat16", DType::bf16},
    {"__hip_bfloat16", DType::bf16},
    {"__bf16", DType::bf16},
    {"__nv_fp8_e4m3", DType::f8e4m3},
    {"__nv_fp8_e5m2", DType::f8e5m2},
    {"__hip_fp8_e4m3", DType::f8e4m3},
    {"__hip_fp8_e5m2", DType::f8e5m2},
    {"f16", DType::f16},
    {"bf16", DType::bf16},
    {"tf32", DType::f32},
    {"f8e4m3", DType::f8e4m3},
    {"f8e5m2", DType::f8e5m2},
    {"cuComplex", DType::c64},
    {"cuFloatComplex", DType::c64},
    {"cuDoubleComplex", DType::c128},
    {"hipFloatComplex", DType::c64},
    {"hipDoubleComplex", DType::c128},
    {"complex<float>", DType::c64},
    {"complex<double>", DType::c128},
    {"cudaTextureObject_t", DType::u64},
    {"cudaSurfaceObject_t", DType::u64},
    {"hipTextureObject_t", DType::u64},
}};

constexpr std::array<std::pair<std::string_view, DType>, 16> vector_types{{
    {"float", DType::f32},
    {"double", DType::f64},
    {"char", DType::i8},
    {"uchar", DType::u8},
    {"short", DType::i16},
    {"ushort", DType::u16},
    {"int", DType::i32},
    {"uint", DType::u32},
    {"long", DType::i64},
    {"ulong", DType::u64},
    {"longlong", DType::i64},
    {"ulonglong", DType::u64},
    {"half", DType::f16},
    {"__half", DType::f16},
    {"__nv_bfloat16", DType::bf16},
    {"nv_bfloat16", DType::bf16},
}};

/// "std::int64_t" is "int64_t", "thrust::complex<float>" is "complex<float>".
std::string_view without_namespaces(std::string_view type) {
  const std::size_t end = type.find('<');
  const std::size_t at = type.substr(0, end).rfind("::");
  return at == std::string_view::npos ? type : type.substr(at + 2);
}

std::optional<ElementType> built_in(std::string_view type) {
  for (const auto& [name, dtype] : known_types)
    if (type == name) return ElementType{dtype, 1};
  // float4, half2, __nv_bfloat162
  if (type.size() < 2 || type.back() < '1' || type.back() > '4') return std::nullopt;
  for (const auto& [name, dtype] : vector_types)
    if (type.substr(0, type.size() - 1) == name) return ElementType{dtype, type.back() - '0'};
  return std::nullopt;
}

}  // namespace

TypeNames::TypeNames(const TokenizedSource& source) {
  const Tokens& tokens = source.tokens;
  const auto until_end = [&](std::size_t i) {
    Tokens type;
    for (; i < tokens.size() && !tokens[i].is(";"); ++i)
      if (!tokens[i].is("const") && !tokens[i].is("typename")) type.push_back(tokens[i]);
    return type;
  };
  for (std::size_t i = 0; i + 3 < tokens.size(); ++i) {
    if (tokens[i].is("using") && tokens[i + 1].is_word() && tokens[i + 2].is("="))
      names_.try_emplace(tokens[i + 1].text, text_of(until_end(i + 3)));
    if (!tokens[i].is("typedef")) continue;
    Tokens type = until_end(i + 1);
    if (type.size() < 2 || !type.back().is_word()) continue;
    const std::string name = type.back().text;
    type.pop_back();
    names_.try_emplace(name, text_of(type));
  }
  for (const Directive& directive : source.directives) {
    Tokens body = directive.name == "define" ? tokens_of(directive.text) : Tokens();
    if (body.size() < 2 || body[1].is("(")) continue;
    const std::string name = body.front().text;
    body.erase(body.begin());
    if (element_type(text_of(body))) names_.try_emplace(name, text_of(body));
  }
}

std::optional<ElementType> TypeNames::element_type(const std::string& type) const {
  std::string_view asked = type;
  for (int steps = 0; steps < 16; ++steps) {
    if (const auto known = built_in(asked)) return known;
    if (const auto known = built_in(without_namespaces(asked))) return known;
    auto named = names_.find(asked);
    if (named == names_.end()) named = names_.find(without_namespaces(asked));
    if (named == names_.end()) return std::nullopt;
    asked = named->second;
  }
  return std::nullopt;
}

}  // namespace xtune::outline
