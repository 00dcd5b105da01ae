// [[args]]: what the kernel is called with, in its order.
#include "base/named.hpp"
#include "core/spec/reader.hpp"

namespace xtune::spec {

namespace {

void forbid(const Reader& reader, const TomlNode& item, const std::vector<std::string>& keys, const std::string& what) {
  for (const std::string& key : keys)
    if (const TomlNode* node = item.find(key)) reader.fail(node->key_at, what + " has no " + key);
}

void read_buffer(const Reader& reader, const TomlNode& item, ArgSpec& arg) {
  if (const TomlNode* value = item.find("value"))
    reader.fail(value->key_at,
                "the buffer '" + arg.name + "' has no value: a scalar has one, and no shape, role, fill or file");
  const TomlNode* const shape = item.find("shape");
  if (shape == nullptr)
    reader.fail(item.at, "the buffer '" + arg.name + "' has no shape (a scalar has value = ... instead)");
  arg.shape = reader.expressions(*shape, "shape");
  constexpr std::size_t max_dimensions = 8;
  if (arg.shape.empty() || arg.shape.size() > max_dimensions)
    reader.fail(shape->at, "shape: expected 1 to 8 dimensions, got " + std::to_string(arg.shape.size()));
  if (const TomlNode* role = item.find("role")) arg.role = reader.word(*role, "role", role_words);
  const TomlNode* const fill = item.find("fill");
  const TomlNode* const file = item.find("file");
  if (fill != nullptr && file != nullptr) reader.fail(file->key_at, "fill and file exclude each other");
  if (fill != nullptr) arg.fill = reader.word(*fill, "fill", fill_words);
  if (file == nullptr) return;
  if (arg.role == ArgRole::out)
    reader.fail(
        file->key_at,
        "'" + arg.name + "' is an output, whose contents before the launch nobody sees: role = \"inout\" reads a file");
  arg.file = reader.existing_file(*file, "file");
}

void read_scalar(const Reader& reader, const TomlNode& item, ArgSpec& arg) {
  forbid(reader, item, {"shape", "fill", "file", "role"}, "the scalar '" + arg.name + "'");
  const TomlNode* const value = item.find("value");
  if (value == nullptr) reader.fail(item.at, "the scalar '" + arg.name + "' has no value");
  arg.value = reader.expression(*value, "value");
}

ArgSpec read_arg(const Reader& reader, const TomlNode& item) {
  reader.check_keys(reader.table(item, "[[args]]"), "[[args]]",
                    {"name", "dtype", "shape", "fill", "file", "role", "kind", "value"});
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
    arg.kind = static_cast<ArgKind>(reader.choice(*kind, "kind", {"buffer", "scalar"}));
  const TomlNode* const dtype = item.find("dtype");
  if (dtype == nullptr) reader.fail(item.at, "the argument '" + arg.name + "' has no dtype");
  arg.dtype = read_dtype(reader, *dtype, "dtype", arg.dtype_text);
  arg.kind == ArgKind::scalar ? read_scalar(reader, item, arg) : read_buffer(reader, item, arg);
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
