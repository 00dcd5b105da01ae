// [[args]]: the kernel's arguments, in its order, and their element types, which the problem may choose.
#include <algorithm>

#include "base/named.hpp"
#include "core/space/value.hpp"
#include "core/spec/reader.hpp"
#include "core/spec/section.hpp"
#include "core/spec/template_text.hpp"

namespace xtune::spec {

namespace {

/// "unknown word 'f31' (did you mean 'f32'?); one of f16, ...".
std::string unknown_dtype(const std::string& word) {
  std::vector<std::string> names;
  for (int i = 0; i <= static_cast<int>(DType::c128); ++i) names.emplace_back(to_string(static_cast<DType>(i)));
  return "unknown word '" + word + "'" + did_you_mean_dtype(word) + "; one of " + joined(names);
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

/// fill = { integers = [0, "ROWS"] }
void read_integers(const Reader& reader, const TomlNode& fill, ArgSpec& arg) {
  reader.check_keys(fill, "fill", {"integers"});
  const TomlNode* const integers = fill.find("integers");
  if (integers == nullptr) reader.fail(fill.at, "fill: expected a word or { integers = [first, end] }");
  arg.integers = reader.expressions(*integers, "integers");
  if (arg.integers.size() != 2)
    reader.fail(integers->at, "integers: expected the first integer and the one after the last, such as [0, 10], got " +
                                  std::to_string(arg.integers.size()) + " values");
  for (const Bindings& problem : reader.spec.cases)
    if (const DType type = dtype_of(arg, problem); is_floating(type) || type == DType::boolean)
      reader.fail(integers->key_at, "integers: '" + arg.name + "' is " + to_string(type) +
                                        ", and only an integer type has such a fill (fill = \"integer\" fills every "
                                        "type with small integers)");
}

void read_contents(const Reader& reader, const TomlNode& item, ArgSpec& arg) {
  const TomlNode* const fill = item.find("fill");
  const TomlNode* const file = item.find("file");
  if (fill != nullptr && file != nullptr) reader.fail(file->key_at, "fill and file exclude each other");
  if (fill != nullptr && fill->is_table())
    read_integers(reader, *fill, arg);
  else if (fill != nullptr)
    arg.fill = reader.word(*fill, "fill", fill_words);
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

constexpr auto outside_words = base::enum_words<bool>("zero", "nan");
/// The keys that only tensor maps have.
constexpr auto tensor_map_section = section<TensorMapSpec>(
    "kind = \"tensor_map\"", key("of", &TensorMapSpec::of), key("box", &TensorMapSpec::box),
    key("strides", &TensorMapSpec::strides), key("element_strides", &TensorMapSpec::element_strides),
    key("swizzle", &TensorMapSpec::swizzle), key("l2_promotion", &TensorMapSpec::l2_promotion),
    key("interleave", &TensorMapSpec::interleave),
    key("outside", &TensorMapSpec::nan_outside, forms::Word{outside_words}));

/// The type of the elements follows when all arguments are read.
void read_tensor_map(const Reader& reader, const TomlNode& item, ArgSpec& arg) {
  const std::string what = "the tensor map '" + arg.name + "'";
  if (reader.spec.for_kokkos())
    reader.fail(item.find("kind")->at, what + ": a Kokkos unit takes no tensor maps; give it the buffer");
  forbid(reader, item, {"value", "fill", "file", "role", "symbol", "zero"}, what);
  TensorMapSpec& map = arg.map.emplace();
  if (item.find("of") == nullptr) reader.fail(item.at, what + " has no of: name the buffer that it describes");
  if (item.find("box") == nullptr)
    reader.fail(item.at, what + " has no box: the elements that one copy takes, in the order of the shape");
  tensor_map_section.read_keys(reader, item, "", map);
  if (const TomlNode* shape = item.find("shape")) map.shape = reader.expressions(*shape, "shape");
  const TomlNode* const dtype = item.find("dtype");
  map.tf32 = dtype != nullptr && dtype->value == Value(std::string("tf32"));
  if (map.tf32)
    arg.dtype = DType::f32;
  else if (dtype != nullptr)
    arg.dtype = read_dtype(reader, *dtype, "dtype", arg.dtype_text);
}

/// After all arguments are read, because a map may stand before its buffer.
void connect_tensor_map(const Reader& reader, const TomlNode& item, ArgSpec& arg) {
  const TensorMapSpec& map = *arg.map;
  std::vector<std::string> buffers;
  for (const ArgSpec& each : reader.spec.args)
    if (each.kind == ArgKind::buffer) buffers.push_back(each.name);
  const TomlNode& at = *item.find("of");
  if (std::find(buffers.begin(), buffers.end(), map.of) == buffers.end())
    reader.fail(at.at, "of: '" + map.of + "' is not a buffer among [[args]]" + base::did_you_mean(map.of, buffers));
  const ArgSpec& of = *base::find_named(reader.spec.args, map.of);
  const TomlNode* const dtype = item.find("dtype");
  if (dtype == nullptr) {
    arg.dtype = of.dtype;
    arg.dtype_text = of.dtype_text;
  }
  for (const Bindings& problem : reader.spec.cases)
    if (map.shape.empty() && size_of(dtype_of(arg, problem)) != size_of(dtype_of(of, problem)))
      reader.fail(dtype->at, std::string("dtype: elements of ") + to_string(dtype_of(arg, problem)) +
                                 " have another size than those of '" + of.name + "', " +
                                 to_string(dtype_of(of, problem)) + ": give the shape in elements of this type");
  const std::size_t rank = map.shape.empty() ? of.shape.size() : map.shape.size();
  constexpr std::size_t max_rank = 5;
  if (rank > max_rank)
    reader.fail(item.at, "the tensor map '" + arg.name + "' has " + std::to_string(rank) +
                             " dimensions, and at most 5 are allowed: give it its own shape");
  const auto check_length = [&](const char* key, std::size_t length) {
    const TomlNode* const node = item.find(key);
    const std::size_t got = node == nullptr ? length : node->is_array() ? node->items.size() : 1;
    if (got != length)
      reader.fail(node->at, std::string(key) + ": expected " + std::to_string(length) + ", one for each dimension" +
                                (key == std::string("strides") ? " but the last" : "") + ", got " +
                                std::to_string(got));
  };
  check_length("box", rank);
  check_length("element_strides", rank);
  check_length("strides", rank - 1);
}

/// Which of them an argument has depends on its kind.
constexpr auto args_section = section<ArgSpec>(
    "[[args]]", read_apart("name"), read_apart("kind"), read_apart("dtype"), read_apart("shape"), read_apart("role"),
    read_apart("zero"), read_apart("fill"), read_apart("file"), read_apart("value"), read_apart("symbol"));

ArgSpec read_arg(const Reader& reader, const TomlNode& item) {
  std::vector<std::string> keys = args_section.names();
  const std::vector<std::string> map_keys = tensor_map_section.names();
  const TomlNode* const kind = item.find("kind");
  const bool is_map = kind != nullptr && kind->value == Value(std::string("tensor_map"));
  if (is_map) keys.insert(keys.end(), map_keys.begin(), map_keys.end());
  if (kind != nullptr) reader.word(*kind, "kind", kind_words);
  if (!is_map)
    for (const std::string& key : map_keys)
      if (const TomlNode* node = item.find(key))
        reader.fail(node->key_at, "only a tensor map has '" + key + "': add kind = \"tensor_map\", or remove it");
  reader.check_keys(reader.table(item, "[[args]]"), "[[args]]", keys);
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
  if (kind != nullptr) arg.kind = reader.word(*kind, "kind", kind_words);
  if (is_map) {
    read_tensor_map(reader, item, arg);
    return arg;
  }
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

std::vector<std::size_t> read_argument_names(const Reader& reader, const TomlNode& node, const std::string& what) {
  const std::vector<ArgSpec>& args = reader.spec.args;
  std::vector<std::string> known;
  for (const ArgSpec& arg : args)
    if (arg.kind != ArgKind::constant) known.push_back(arg.name);
  std::vector<std::size_t> numbers;
  for (const TomlNode& item : reader.array(node, what).items) {
    const std::string name = reader.text(item, what);
    if (std::find(known.begin(), known.end(), name) == known.end())
      reader.fail(item.at, what + ": '" + name + "' is not an argument in [[args]]" + base::did_you_mean(name, known));
    numbers.push_back(static_cast<std::size_t>(base::find_named(args, name) - args.data()));
  }
  return numbers;
}

void check_arguments_used(const Reader& reader) {
  const Spec& spec = reader.spec;
  std::vector<std::size_t> used;
  for (const StepSpec& step : steps_of(spec)) {
    if (!step.args) return;  // takes all
    used.insert(used.end(), step.args->begin(), step.args->end());
  }
  const ReferenceSpec& reference = spec.validate.reference;
  if (reference.args) used.insert(used.end(), reference.args->begin(), reference.args->end());
  const auto is_used = [&](const ArgSpec& arg) {
    const auto number = static_cast<std::size_t>(&arg - spec.args.data());
    return std::find(used.begin(), used.end(), number) != used.end();
  };
  for (const ArgSpec& arg : spec.args) {
    const bool mapped = std::any_of(spec.args.begin(), spec.args.end(), [&](const ArgSpec& other) {
      return other.map && other.map->of == arg.name && is_used(other);
    });
    // Builtins, commands and files read inputs by their names.
    const bool read = arg.kind == ArgKind::buffer && is_input(arg.role) &&
                      reference.kind != ReferenceSpec::Kind::none && reference.kind != ReferenceSpec::Kind::kernel;
    if (arg.kind == ArgKind::constant || is_used(arg) || mapped || read) continue;
    reader.document.fail(arg.at, "the argument '" + arg.name + "' is " +
                                     (spec.kernel.args ? "not in kernel.args" : "in the args of no step") +
                                     ", and no tensor map or reference uses it: add it there, or remove it");
  }
}

void read_args(Reader& reader) {
  const TomlNode* const args = reader.document.root().find("args");
  if (args != nullptr) {
    if (!args->is_array()) reader.wrong_type(*args, "args", "an array of tables, [[args]]");
    for (const TomlNode& item : args->items) reader.spec.args.push_back(read_arg(reader, item));
    if (const TomlNode* names = reader.document.root().find("kernel")->find("args"))
      reader.spec.kernel.args = read_argument_names(reader, *names, "kernel.args");
    for (std::size_t i = 0; i < args->items.size(); ++i)
      if (reader.spec.args[i].map) connect_tensor_map(reader, args->items[i], reader.spec.args[i]);
  }
  if (!reader.spec.kernel.source.empty() && reader.spec.args.empty())
    reader.fail(reader.document.root().find("kernel")->at,
                "the spec has a source but no [[args]]: list what the kernel is called with");
}

SectionKeys keys_of_args() { return {args_section.titled(), tensor_map_section.titled()}; }

}  // namespace xtune::spec
