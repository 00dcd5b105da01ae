// Element types in a spec: words, or template texts that have the problem choose one.
#include <algorithm>

#include "core/space/value.hpp"
#include "core/spec/reader.hpp"
#include "core/spec/template_text.hpp"

namespace xtune::spec {

namespace {

/// "unknown word 'f31' (did you mean 'f32'?); one of f16, ...".
std::string unknown_dtype(const std::string& word) {
  std::string names;
  for (int i = 0; i <= static_cast<int>(DType::c128); ++i)
    names += (names.empty() ? "" : ", ") + std::string(to_string(static_cast<DType>(i)));
  return "unknown word '" + word + "'" + did_you_mean_dtype(word) + "; one of " + names;
}

/// Problems that differ in a number answer for each other; those of different types must not.
void check_deciding_name(const Reader& reader, const CompiledText& text, const std::string& name,
                         const std::string& what) {
  const Bindings& problem = reader.spec.cases.front();
  const auto value = problem.find(name);
  const Location& at = text.source().at;
  if (value == problem.end())
    reader.document.fail(at, what + ": '" + name + "' is not a name of [problem], and only these may decide on a type");
  if (std::holds_alternative<std::int64_t>(value->second) || std::holds_alternative<double>(value->second))
    reader.document.fail(at, what + ": '" + name +
                                 "' is a number, and problems that differ in numbers may answer for each other: decide "
                                 "on a type by a text or a boolean");
}

}  // namespace

DType dtype_in(const std::optional<Text>& text, DType dtype, const Bindings& problem) {
  if (!text) return dtype;
  const std::string word = expand(*text, [&](std::string_view name) { return space::find_value(problem, name); });
  if (const auto found = dtype_from_string(word)) return *found;
  throw TextError(*text, text->at, unknown_dtype(word));
}

DType read_dtype(const Reader& reader, const TomlNode& node, const std::string& what, std::optional<Text>& text) {
  text.reset();
  const std::string word = reader.text(node, what);
  if (const auto dtype = dtype_from_string(word)) return *dtype;
  if (word.find('{') == std::string::npos) reader.fail(node.at, what + ": " + unknown_dtype(word));
  text = reader.placed_text(node, what);
  try {
    const CompiledText compiled = CompiledText::template_text(*text);
    for (const std::string& name : compiled.names()) check_deciding_name(reader, compiled, name, what);
    for (const Bindings& problem : reader.spec.cases) dtype_in(text, DType::f32, problem);
  } catch (const TextError& error) {
    reader.document.fail(error.at, what + ": " + error.message);
  }
  return dtype_in(text, DType::f32, reader.spec.cases.front());
}

}  // namespace xtune::spec
