// [[args]]: the kernel's arguments, in its order.
#include <array>

#include "base/named.hpp"
#include "base/text.hpp"
#include "core/spec/reader.hpp"

namespace xtune::spec {

namespace {

constexpr std::array<DType, 17> dtypes{DType::f8e4m3, DType::f8e5m2, DType::f16, DType::bf16, DType::f32,
                                       DType::f64,    DType::i8,     DType::i16, DType::i32,  DType::i64,
                                       DType::u8,     DType::u16,    DType::u32, DType::u64,  DType::boolean,
                                       DType::c64,    DType::c128};

void forbid(const Reader& reader, const TomlNode& item, const std::vector<std::string>& keys, const std::string& what) {
  for (const std::string& key : keys)
    if (const TomlNode* node = item.find(key)) reader.fail(node->key_at, what + " has no " + key);
}

void read_buffer(const Reader& reader, const TomlNode& item, ArgSpec& arg) {
  forbid(reader, item, {"value"}, "the buffer '" + arg.name + "'");
  const TomlNode* const shape = item.find("shape");
  if (shape == nullptr) reader.fail(item.at, "the buffer '" + arg.name + "' has no shape");
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
    reader.fail(file->key_at,
                "'" + arg.name +
                    "' is an output, so its contents before the launch are never used: role = \"inout\" reads a file");
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
  if (const TomlNode* kind = item.find("kind"))
    arg.kind = static_cast<ArgKind>(reader.choice(*kind, "kind", {"buffer", "scalar"}));
  const TomlNode* const dtype = item.find("dtype");
  if (dtype == nullptr) reader.fail(item.at, "the argument '" + arg.name + "' has no dtype");
  arg.dtype = read_dtype(reader, *dtype, "dtype");
  arg.kind == ArgKind::scalar ? read_scalar(reader, item, arg) : read_buffer(reader, item, arg);
  return arg;
}

}  // namespace

DType read_dtype(const Reader& reader, const TomlNode& node, const std::string& what) {
  const std::string word = reader.text(node, what);
  if (const auto dtype = dtype_from_string(word)) return *dtype;
  std::string names;
  for (const DType dtype : dtypes) names += (names.empty() ? "" : ", ") + std::string(to_string(dtype));
  reader.fail(node.at, what + ": unknown word '" + word + "'" + did_you_mean_dtype(word) + "; one of " + names);
}

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
