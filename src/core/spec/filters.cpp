// --filter and --partition: the part of the space that a run uses.
#include "core/space/expression.hpp"
#include "core/spec/reader.hpp"
#include "core/spec/template_text.hpp"

namespace xtune::spec {

namespace {

/// False for an expression that does not parse: its error is reported where all expressions are checked.
bool is_a_number(const Text& text) {
  try {
    return space::is_always_a_number(parse_expression(text));
  } catch (const space::ExpressionError&) {
    return false;
  }
}

}  // namespace

void add_filters(Reader& reader, const SpecOptions& options) {
  for (const std::string& filter : options.filters) {
    const Location at{"--filter '" + filter + "'"};
    const Text text{filter, at, false, reader.spec.derived};
    if (is_a_number(text))
      reader.document.fail(at, "this is a number, and a filter says what to keep: compare it, as in 'A + B <= 64'");
    reader.spec.constraints.push_back(text);
  }
  reader.spec.partition = options.partition;
}

}  // namespace xtune::spec
