// [[args]]: the kernel's arguments, in its order.
#include "base/named.hpp"
#include "core/spec/reader.hpp"

namespace xtune::spec {

namespace {

void forbid(const Reader& reader, const TomlNode& item, const std::vector<std::string>& keys, const std::string& what) {
  for (const std::string& key : keys)
    if (const TomlNode* node = item.find(key)) reader.fail(node->key_at, what + " has no " + key);
}

void read_shape(const Reader& reader, const TomlNode& item, ArgSpec& arg) {
  const TomlNode* const shape = item.find("shape");
  if (shape == nullptr)
    reader.fail(item.at, std::string("the ") + kind_words.of(arg.kind) + " '" + arg.name +
                             "' has no shape (a scalar has value = ... instead)");
  arg.shape = reader.expressions(*shape, "shape");
  constexpr std::size_t max_dimensions = 8;
  if (arg.shape.empty() || arg.shape.size() > max_dimensions)
    reader.fail(shape->at, "shape: expected 1 to 8 dimensions, got " + std::to_string(arg.shape.size()));
}

void read_contents(const Reader& reader, const TomlNode& item, ArgSpec& arg) {
  const TomlNode* const fill = item.find("fill");
  const TomlNode* const file = item.find("file");
  if (fill != nullptr && file != nullptr) reader.fail(file->key_at, "fill and file exclude each other");
  if (fill != nullptr) arg.fill = reader.word(*fill, "fill", fill_words);
  if (file == nullptr) return;
  if (arg.role == ArgRole::out)
    reader.fail(file->key_at,
                "'" + arg.name +
                    "' is an output, so its contents before the launch are never used: role = \"inout\" reads a file");
  arg.file = reader.existing_file(*file, "file");
}

void read_buffer(const Reader& reader, const TomlNode& item, ArgSpec& arg) {
  if (const TomlNode* value = item.find("value"))
    reader.fail(value->key_at,
                "the buffer '" + arg.name + "' has no value: a scalar has one, and no shape, role, fill or file");
  forbid(reader, item, {"symbol"}, "the buffer '" + arg.name + "'");
  read_shape(reader, item, arg);
  if (const TomlNode* role = item.find("role")) arg.role = reader.word(*role, "role", role_words);
  const TomlNode* const zero = item.find("zero");
  if (arg.role != ArgRole::scratch) {
    if (zero != nullptr)
      reader.fail(zero->key_at, "zero is for buffers with role = \"scratch\": fill = \"zero\" makes an input of zeros");
    return read_contents(reader, item, arg);
  }
  forbid(reader, item, {"fill", "file"}, "the scratch buffer '" + arg.name + "', whose contents are never used,");
  if (zero != nullptr && reader.boolean(*zero, "zero")) arg.fill = Fill::zero;
}

void read_constant(const Reader& reader, const TomlNode& item, ArgSpec& arg) {
  const std::string what = "the constant '" + arg.name + "'";
  if (reader.spec.for_kokkos())
    reader.fail(item.find("kind")->at, what + ": a Kokkos unit has no variables that xtune fills; give it a buffer");
  forbid(reader, item, {"role", "zero"}, what);
  if (const TomlNode* symbol = item.find("symbol")) {
    arg.symbol = reader.placed_text(*symbol, "symbol");
    if (arg.symbol->text.empty()) reader.fail(symbol->at, "symbol is empty: give the variable's name in the source");
  }
  const TomlNode* const value = item.find("value");
  if (value == nullptr) {
    read_shape(reader, item, arg);
    return read_contents(reader, item, arg);
  }
  forbid(reader, item, {"shape", "fill", "file"}, what + ", which has a value,");
  arg.value = reader.expression(*value, "value");
}

void read_scalar(const Reader& reader, const TomlNode& item, ArgSpec& arg) {
  forbid(reader, item, {"shape", "fill", "file", "role", "symbol", "zero"}, "the scalar '" + arg.name + "'");
  const TomlNode* const value = item.find("value");
  if (value == nullptr) reader.fail(item.at, "the scalar '" + arg.name + "' has no value");
  arg.value = reader.expression(*value, "value");
}

ArgSpec read_arg(const Reader& reader, const TomlNode& item) {
  reader.check_keys(reader.table(item, "[[args]]"), "[[args]]",
                    {"name", "dtype", "shape", "fill", "file", "role", "kind", "value", "symbol", "zero"});
  ArgSpec arg;
  arg.at = reader.document.at(item.at);
  const TomlNode* const name = item.find("name");
  if (name == nullptr) reader.fail(item.at, "[[args]] has no name");
  arg.name = reader.text(*name, "name");
  reader.check_identifier(name->at, arg.name, "argument");
  if (const ArgSpec* earlier = base::find_named(reader.spec.args, arg.name))
    reader.fail(name->at, "duplicate argument '" + arg.name + "', first at line " + std::to_string(earlier->at.line));
  // What has a value and nothing that a buffer has is a scalar, also if it does not say so.
  const auto has = [&](const char* key) { return item.find(key) != nullptr; };
  if (has("value") && !has("shape") && !has("role") && !has("fill") && !has("file")) arg.kind = ArgKind::scalar;
  if (const TomlNode* kind = item.find("kind"))
    arg.kind = static_cast<ArgKind>(reader.choice(*kind, "kind", {"buffer", "scalar", "constant"}));
  const TomlNode* const dtype = item.find("dtype");
  if (dtype == nullptr) reader.fail(item.at, "the argument '" + arg.name + "' has no dtype");
  arg.dtype = read_dtype(reader, *dtype, "dtype", arg.dtype_text);
  switch (arg.kind) {
    case ArgKind::scalar:
      read_scalar(reader, item, arg);
      break;
    case ArgKind::constant:
      read_constant(reader, item, arg);
      break;
    default:
      read_buffer(reader, item, arg);
  }
  return arg;
}

}  // namespace

void read_args(Reader& reader) {
  const TomlNode* const args = reader.document.root().find("args");
  if (args != nullptr) {
    if (!args->is_array()) reader.wrong_type(*args, "args", "an array of tables, [[args]]");
    for (const TomlNode& item : args->items) reader.spec.args.push_back(read_arg(reader, item));
  }
  if (!reader.spec.kernel.source.empty() && reader.spec.args.empty())
    reader.fail(reader.document.root().find("kernel")->at,
                "the spec has a source but no [[args]]: list what the kernel is called with");
}

}  // namespace xtune::spec
