// [[args]]: the arguments, and their element types, which the problem may choose.
#include <algorithm>
#include <set>

#include "base/named.hpp"
#include "base/text.hpp"
#include "core/space/value.hpp"
#include "core/spec/section.hpp"
#include "core/spec/template_text.hpp"
#include "system/files.hpp"

namespace xtune::spec {

namespace {

// Those whose bytes xtune puts together: vectors, structs and tables of addresses.

/// Of all parameters of a kernel (CUDA C++ Programming Guide, "Function Parameters").
constexpr std::size_t max_value_bytes = 32764;

/// "f32x3": the element type and 2 to 4 lanes.
std::optional<std::pair<DType, std::uint32_t>> vector_type(const std::string& word) {
  const std::size_t x = word.size() < 3 ? 0 : word.size() - 2;
  if (x == 0 || word[x] != 'x' || word[x + 1] < '2' || word[x + 1] > '4') return std::nullopt;
  const auto dtype = dtype_from_string(word.substr(0, x));
  if (!dtype || is_complex(*dtype)) return std::nullopt;
  return std::pair(*dtype, static_cast<std::uint32_t>(word[x + 1] - '0'));
}

/// Where CUDA, HIP and the host backend agree; else the reason.
std::string disagreement(const FieldSpec& field) {
  if (is_complex(field.dtype))
    return "complex types differ in alignment: write f32x2 or f64x2 for CUDA's and thrust's, or the two parts with "
           "count = 2 for std::complex";
  if (field.lanes == 4 && size_of(field.dtype) == 8)
    return "vectors of 32 bytes differ in alignment: write the element type with count = 4, after padding where the "
           "struct has some";
  return {};
}

std::size_t alignment_of(const FieldSpec& field) {
  if (!field.of.empty()) return sizeof(void*);
  const std::size_t element = size_of(field.dtype);
  return field.lanes == 2 || field.lanes == 4 ? std::min<std::size_t>(element * field.lanes, 16) : element;
}

/// "f32x3", or an element type.
void read_field_type(const Reader& reader, const TomlNode& node, FieldSpec& field) {
  const std::string word = reader.text(node, "dtype");
  if (const auto vector = vector_type(word)) {
    std::tie(field.dtype, field.lanes) = *vector;
  } else {
    std::optional<Text> text;
    field.dtype = read_dtype(reader, node, "dtype", text);
    if (text) reader.fail(node.at, "dtype: a field has the same type in every problem: name one");
  }
}

void read_numbers(const Reader& reader, const TomlNode& node, const std::string& what, FieldSpec& field) {
  field.value = reader.expressions(node, "value");
  const std::uint64_t count = field.numbers();
  if (!node.is_array() || field.value.size() == count) return;
  reader.fail(node.at, "value: " + what + " has " + std::to_string(count) + (count == 1 ? " number" : " numbers") +
                           ", and this list has " + std::to_string(field.value.size()) +
                           ". Give as many, or a single one for all");
}

constexpr auto field_section = section<FieldSpec>(
    "[[args.fields]]", required("name", &FieldSpec::name, "a field has no name"), read_by("dtype", &read_field_type),
    key("count", &FieldSpec::count, forms::Integer{1, max_value_bytes}), read_apart("value"), key("of", &FieldSpec::of),
    key("offset", &FieldSpec::offset), key("stride", &FieldSpec::stride));

FieldSpec read_field(const Reader& reader, const TomlNode& item, const ArgSpec& arg) {
  FieldSpec field;
  field.at = reader.document.at(item.at);
  field_section.read_toml(reader, item, "", field);
  const std::string what = "the field '" + field.name + "' of '" + arg.name + "'";
  reader.check_identifier(item.find("name")->at, field.name, "field", false);
  if (base::find_named(arg.fields, field.name)) reader.fail(item.find("name")->at, what + " is there twice");
  const TomlNode *const dtype = item.find("dtype"), *const value = item.find("value");
  if (!field.of.empty()) {
    for (const char* key : {"dtype", "value"})
      if (const TomlNode* node = item.find(key))
        reader.fail(node->key_at, what + " is the address of a buffer (of), which has no " + key);
    return field;
  }
  for (const char* key : {"offset", "stride"})
    if (const TomlNode* node = item.find(key))
      reader.fail(node->key_at, std::string("only the address of a buffer has ") + key + ": name the buffer with of");
  if (dtype == nullptr || value == nullptr)
    reader.fail(item.at, what + " needs dtype and value, or of = \"BUFFER\" for the address of a buffer");
  read_numbers(reader, *value, what, field);
  if (const std::string why = disagreement(field); !why.empty()) reader.fail(dtype->at, what + ": " + why);
  return field;
}

constexpr auto struct_section = section<ArgSpec>("kind = \"struct\"", read_apart("fields"));
constexpr auto table_section =
    section<FieldSpec>("kind = \"table\"", read_apart("of"), key("count", &FieldSpec::entries),
                       key("offset", &FieldSpec::offset), key("stride", &FieldSpec::stride));

void read_vector(const Reader& reader, const TomlNode& item, ArgSpec& arg) {
  FieldSpec field;
  field.at = arg.at;
  read_field_type(reader, *item.find("dtype"), field);
  read_numbers(reader, *item.find("value"), "the vector '" + arg.name + "'", field);
  arg.kind = ArgKind::structure;
  arg.dtype = field.dtype;
  arg.value_bytes = field.bytes();
  arg.fields = {std::move(field)};
}

void read_struct(const Reader& reader, const TomlNode& item, ArgSpec& arg) {
  arg.dtype = DType::u8;
  const TomlNode *const fields = item.find("fields"), *const file = item.find("file");
  if ((fields == nullptr) == (file == nullptr))
    reader.fail(item.at, "the struct '" + arg.name +
                             "' needs either fields, in the order of its declaration, or the file of its bytes");
  if (fields != nullptr) {
    for (const TomlNode& each : reader.array(*fields, "fields").items)
      arg.fields.push_back(read_field(reader, reader.table(each, "fields"), arg));
    if (arg.fields.empty()) reader.fail(fields->at, "fields is empty: list what the struct '" + arg.name + "' has");
    arg.value_bytes = place_fields(arg.fields);
    if (arg.value_bytes > max_value_bytes)
      reader.fail(item.at, "the struct '" + arg.name + "' has " + std::to_string(arg.value_bytes) +
                               " bytes, and a kernel takes at most " + std::to_string(max_value_bytes) +
                               ": give it a buffer instead");
    return;
  }
  const std::filesystem::path path = reader.existing_file(*file, "file");
  if (!reader.check_files) return;
  arg.value_bytes = std::filesystem::file_size(path);
  if (arg.value_bytes == 0 || arg.value_bytes > max_value_bytes)
    reader.fail(file->at, "file: " + path.string() + " has " + std::to_string(arg.value_bytes) +
                              " bytes, and a struct of a kernel has 1 to " + std::to_string(max_value_bytes));
  arg.contents = system::read_file(path);
}

void read_table(const Reader& reader, const TomlNode& item, ArgSpec& arg) {
  arg.dtype = DType::u64;
  const TomlNode* const of = item.find("of");
  if (of == nullptr)
    reader.fail(item.at, "the table '" + arg.name + "' has no of: list the buffers whose addresses it holds");
  FieldSpec field;
  field.at = arg.at;
  table_section.read_keys(reader, item, "", field);
  const std::vector<TomlNode> only{*of};
  for (const TomlNode& name : of->is_array() ? of->items : only) {
    field.of = reader.text(name, "of");
    arg.fields.push_back(field);
  }
  if (arg.fields.empty()) reader.fail(of->at, "of is empty: list the buffers whose addresses the table holds");
}

/// After all arguments are read, because it may name later ones, as connect_contents does.
void connect_addresses(const Reader& reader, const TomlNode& item, const ArgSpec& arg) {
  const auto buffers = names_of(
      reader.spec.args, [](const ArgSpec& each) { return each.kind == ArgKind::buffer && each.sum_of.empty(); });
  const TomlNode* const of = item.find("of");
  for (std::size_t i = 0; i < arg.fields.size(); ++i) {
    const std::string& name = arg.fields[i].of;
    if (name.empty()) continue;
    const TomlNode& at = !of ? *item.find("fields")->items[i].find("of") : of->is_array() ? of->items[i] : *of;
    reader.require_among(at.at, name, buffers, "of: '" + name + "' is not a buffer among [[args]]");
  }
}

/// fill = { like = "a", permute = [1, 0] }
void read_like(const Reader& reader, const TomlNode& fill, ArgSpec& arg) {
  arg.like = reader.text(*fill.find("like"), "like");
  const TomlNode* const permute = fill.find("permute");
  if (fill.entries.size() != (permute != nullptr ? 2U : 1U))
    reader.fail(fill.at, "fill: like has no other fill beside it, only permute");
  if (permute == nullptr) return;
  for (const TomlNode& number : reader.array(*permute, "permute").items)
    arg.permute.push_back(static_cast<std::size_t>(reader.integer(number, "permute", 0, 7)));
}

void connect_contents(const Reader& reader, const TomlNode& item, const ArgSpec& arg) {
  const std::vector<ArgSpec>& args = reader.spec.args;
  if (!arg.sum_of.empty()) {
    const TomlNode& at = *item.find("sum_of");
    reader.require_among(at.at, arg.sum_of,
                         names_of(args, [](const ArgSpec& each) { return each.role == ArgRole::scratch; }),
                         "sum_of: '" + arg.sum_of + "' is not a buffer with role = \"scratch\"");
    for (const ArgSpec* each : {&arg, base::find_named(args, arg.sum_of)})
      if (is_complex(each->dtype) || each->dtype == DType::boolean || each->dtype == DType::i64 ||
          each->dtype == DType::u64)
        reader.fail(at.at, "sum_of: '" + each->name + "' is of " + to_string(each->dtype) +
                               ", and only real numbers and integers of up to 32 bits are added up");
  }
  if (arg.like.empty()) return;
  const TomlNode& fill = *item.find("fill");
  const TomlNode& at = *fill.find("like");
  const auto has_own = [&](const ArgSpec& each) {
    return has_elements(each.kind) && is_input(each.role) && each.like.empty() && &each != &arg;
  };
  reader.require_among(at.at, arg.like, names_of(args, has_own),
                       "like: '" + arg.like + "' is not an input that has its own contents");
  const ArgSpec& of = *base::find_named(args, arg.like);
  for (const Bindings& problem : reader.spec.cases)
    if (dtype_of(arg, problem) != dtype_of(of, problem))
      reader.fail(at.at, std::string("like: '") + of.name + "' is of " + to_string(dtype_of(of, problem)) + ", and '" +
                             arg.name + "' of " + to_string(dtype_of(arg, problem)) + ": they need the same type");
  if (arg.permute.empty()) return;
  const std::set<std::size_t> dimensions(arg.permute.begin(), arg.permute.end());
  const std::size_t rank = of.shape.size();
  if (arg.permute.size() != rank || dimensions.size() != rank || *dimensions.rbegin() != rank - 1 ||
      arg.shape.size() != rank)
    reader.fail(fill.find("permute")->at, "permute: expected each dimension of '" + of.name + "' once, 0 to " +
                                              std::to_string(rank - 1) + ", and a shape with as many dimensions");
}

// All others, and what the kinds have in common.

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

/// fill = "sorted", or a word with its numbers: fill = { integers = [0, "ROWS"] }, fill = { offsets = "NNZ" }
void read_fill(const Reader& reader, const TomlNode& fill, ArgSpec& arg) {
  if (!fill.is_table()) return static_cast<void>(arg.fill = reader.word(fill, "fill", fill_words));
  reader.check_keys(fill, "fill",
                    {"integers", "sorted", "offsets", "one_hot", "constant", "formula", "like", "permute"});
  if (fill.find("like") != nullptr) return read_like(reader, fill, arg);
  if (fill.entries.size() != 1 || fill.find("permute") != nullptr)
    reader.fail(
        fill.at,
        "fill: expected a word or { integers = [first, end] }, as well as sorted, offsets, one_hot, constant, formula "
        "and like");
  const auto& [word, numbers] = fill.entries.front();
  if (word == "constant") return static_cast<void>(arg.value = reader.expression(numbers, word));
  arg.fill = *fill_words.find(word);
  if (numbers.is_array())
    arg.numbers = reader.expressions(numbers, word);
  else
    arg.numbers.push_back(reader.expression(numbers, word));
}

void read_contents(const Reader& reader, const TomlNode& item, ArgSpec& arg) {
  const TomlNode* const fill = item.find("fill");
  const TomlNode* const file = item.find("file");
  if (fill != nullptr && file != nullptr) reader.fail(file->key_at, "fill and file exclude each other");
  if (fill != nullptr) read_fill(reader, *fill, arg);
  if (file == nullptr) return;
  if (arg.role == ArgRole::out)
    reader.fail(file->key_at,
                "'" + arg.name +
                    "' is an output, so its contents before the launch are never used: role = \"inout\" reads a file");
  arg.file = reader.existing_file(*file, "file");
}

/// The keys of inputs that only calls with arrays read.
void read_conditions(const Reader& reader, const TomlNode& item, ArgSpec& arg) {
  if (const TomlNode* const when = item.find("when")) {
    arg.when = reader.expression(*when, "when");
    const CompiledText compiled = xtune::spec::compiled(reader, [&] { return CompiledText::expression(*arg.when); });
    for (const std::string& name : compiled.names())
      if (!reader.spec.cases.front().contains(name))
        reader.fail(when->at, "when: '" + name + "' is not a name of [problem], and only these say what a call passes");
  }
  if (const TomlNode* const call_value = item.find("default")) {
    if (arg.role != ArgRole::out || !arg.dtype_text)
      reader.fail(call_value->key_at, "default is for scalars, and for outputs whose dtype is \"{NAME}\"");
    arg.call_value = reader.expression(*call_value, "default");
  }
  const TomlNode* const transposed = item.find("transposed");
  if (transposed == nullptr) return;
  arg.transposed = reader.text(*transposed, "transposed");
  const auto found = reader.spec.cases.front().find(arg.transposed);
  if (found == reader.spec.cases.front().end() || !std::holds_alternative<bool>(found->second))
    reader.fail(transposed->at, "transposed: '" + arg.transposed + "' is not a boolean of [problem]");
  if (arg.shape.size() != 2)
    reader.fail(transposed->at, "transposed is for buffers of two dimensions, and '" + arg.name + "' has " +
                                    std::to_string(arg.shape.size()));
}

void read_buffer(const Reader& reader, const TomlNode& item, ArgSpec& arg) {
  if (const TomlNode* value = item.find("value"))
    reader.fail(value->key_at,
                "the buffer '" + arg.name + "' has no value: a scalar has one, and no shape, role, fill or file");
  forbid(reader, item, {"symbol"}, "the buffer '" + arg.name + "'");
  read_shape(reader, item, arg);
  if (const TomlNode* role = item.find("role")) arg.role = reader.word(*role, "role", role_words);
  if (!is_input(arg.role)) forbid(reader, item, {"when", "transposed"}, "'" + arg.name + "', which is not an input,");
  read_conditions(reader, item, arg);
  const TomlNode* const zero = item.find("zero");
  if (const TomlNode* sum = item.find("sum_of")) {
    arg.sum_of = reader.text(*sum, "sum_of");
    if (arg.role != ArgRole::out) reader.fail(sum->key_at, "sum_of is for outputs: add role = \"out\"");
  }
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
  forbid(reader, item, {"role", "zero", "sum_of", "when", "transposed", "default"}, what);
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
  forbid(reader, item, {"shape", "fill", "file", "role", "symbol", "zero", "sum_of", "when", "transposed"},
         "the scalar '" + arg.name + "'");
  const TomlNode* const value = item.find("value");
  if (value == nullptr) reader.fail(item.at, "the scalar '" + arg.name + "' has no value");
  arg.value = reader.expression(*value, "value");
  if (const TomlNode* const call_value = item.find("default"))
    arg.call_value = reader.expression(*call_value, "default");
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
  forbid(reader, item, {"value", "fill", "file", "role", "symbol", "zero", "sum_of", "when", "transposed", "default"},
         what);
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
  const auto is_buffer = [](const ArgSpec& each) { return each.kind == ArgKind::buffer; };
  const auto buffers = names_of(reader.spec.args, is_buffer);
  reader.require_among(item.find("of")->at, map.of, buffers, "of: '" + map.of + "' is not a buffer among [[args]]");
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
    read_apart("zero"), read_apart("fill"), read_apart("file"), read_apart("value"), read_apart("symbol"),
    read_apart("sum_of"), read_apart("when"), read_apart("transposed"), read_apart("default"));

/// Refuses keys of other kinds.
void check_keys_of_kind(const Reader& reader, const TomlNode& item, ArgKind kind) {
  const std::pair<ArgKind, std::vector<std::string>> kinds[] = {{ArgKind::tensor_map, tensor_map_section.names()},
                                                                {ArgKind::structure, struct_section.names()},
                                                                {ArgKind::table, table_section.names()}};
  std::vector<std::string> keys = args_section.names();
  for (const auto& [own, names] : kinds)
    if (kind == own) keys.insert(keys.end(), names.begin(), names.end());
  for (const auto& [own, names] : kinds)
    for (const std::string& key : names)
      if (const TomlNode* node = item.find(key); node && std::find(keys.begin(), keys.end(), key) == keys.end()) {
        const std::string word = kind_words.of(own);
        reader.fail(node->key_at, "only a " + (own == ArgKind::tensor_map ? "tensor map" : word) + " has '" + key +
                                      "': add kind = \"" + word + "\", or remove it");
      }
  reader.check_keys(item, "[[args]]", keys);
}

/// After the name. A vector is a scalar whose type has lanes.
void read_value(const Reader& reader, const TomlNode& item, ArgSpec& arg) {
  const std::string what = std::string("the ") + kind_words.of(arg.kind) + " '" + arg.name + "'";
  if (reader.spec.for_kokkos())
    reader.fail(item.at, what + ": a Kokkos unit takes buffers and scalars only; give it these");
  std::vector<std::string> others{"shape", "fill", "role", "symbol", "zero", "sum_of", "when", "transposed", "default"};
  if (arg.kind != ArgKind::scalar) others.insert(others.end(), {"dtype", "value"});
  if (arg.kind != ArgKind::structure) others.emplace_back("file");
  forbid(reader, item, others, what);
  (arg.kind == ArgKind::structure ? read_struct
   : arg.kind == ArgKind::table   ? read_table
                                  : read_vector)(reader, item, arg);
}

ArgSpec read_arg(const Reader& reader, const TomlNode& item) {
  const TomlNode* const kind = reader.table(item, "[[args]]").find("kind");
  // What has a value and nothing that a buffer has is a scalar, also if it does not say so.
  const auto has = [&](const char* key) { return item.find(key) != nullptr; };
  const bool is_scalar = has("value") && !has("shape") && !has("role") && !has("fill") && !has("file");
  const ArgKind usual = has("fields") ? ArgKind::structure : is_scalar ? ArgKind::scalar : ArgKind::buffer;
  ArgSpec arg;
  arg.at = reader.document.at(item.at);
  arg.kind = kind != nullptr ? reader.word(*kind, "kind", kind_words) : usual;
  check_keys_of_kind(reader, item, arg.kind);
  const TomlNode* const name = item.find("name");
  if (name == nullptr) reader.fail(item.at, "[[args]] has no name");
  arg.name = reader.text(*name, "name");
  reader.check_identifier(name->at, arg.name, "argument", false);
  if (const ArgSpec* earlier = base::find_named(reader.spec.args, arg.name))
    reader.fail(name->at, "duplicate argument '" + arg.name + "', first at line " + std::to_string(earlier->at.line));
  if (arg.kind == ArgKind::tensor_map) return read_tensor_map(reader, item, arg), arg;
  if (has_value(arg.kind) && arg.kind != ArgKind::scalar) return read_value(reader, item, arg), arg;
  const TomlNode* const dtype = item.find("dtype");
  if (dtype == nullptr) reader.fail(item.at, "the argument '" + arg.name + "' has no dtype");
  const bool is_vector = vector_type(reader.text(*dtype, "dtype")).has_value();
  if (arg.kind == ArgKind::scalar && has("value") && is_vector) return read_value(reader, item, arg), arg;
  if (is_vector && arg.kind != ArgKind::scalar)
    reader.fail(dtype->at, "dtype: elements have plain types: a buffer of vectors has their lanes as last dimension, " +
                               std::string("shape = [\"N\", 4]"));
  arg.dtype = read_dtype(reader, *dtype, "dtype", arg.dtype_text);
  (arg.kind == ArgKind::scalar     ? read_scalar
   : arg.kind == ArgKind::constant ? read_constant
                                   : read_buffer)(reader, item, arg);
  return arg;
}

}  // namespace

std::size_t place_fields(std::vector<FieldSpec>& fields) {
  std::size_t end = 0, alignment = 1;
  const auto aligned = [](std::size_t bytes, std::size_t to) { return (bytes + to - 1) / to * to; };
  for (FieldSpec& field : fields) {
    const std::size_t own = alignment_of(field);
    alignment = std::max(alignment, own);
    field.at_byte = aligned(end, own);
    end = field.at_byte + field.bytes();
  }
  return aligned(end, alignment);
}

std::vector<std::string> buffers_in(const ArgSpec& argument) {
  std::vector<std::string> names;
  if (argument.map) names.push_back(argument.map->of);
  for (const FieldSpec& field : argument.fields)
    if (!field.of.empty()) names.push_back(field.of);
  return names;
}

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
  const auto known = names_of(args, [](const ArgSpec& arg) { return arg.kind != ArgKind::constant; });
  std::vector<std::size_t> numbers;
  for (const TomlNode& item : reader.array(node, what).items) {
    const std::string name = reader.text(item, what);
    reader.require_among(item.at, name, known, what + ": '" + name + "' is not an argument in [[args]]");
    numbers.push_back(static_cast<std::size_t>(base::find_named(args, name) - args.data()));
  }
  return numbers;
}

void check_arguments_used(const Reader& reader) {
  const Spec& spec = reader.spec;
  std::vector<std::size_t> used;
  for (const StepSpec& step : steps_of(spec)) {
    for (const ArgSpec* arg : arguments_of(spec, step.args))
      if (!arg->sum_of.empty())
        reader.document.fail(arg->at, "'" + arg->name + "' is what xtune adds up, and no kernel takes it: name the " +
                                          "others in args of [kernel] or of the step");
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
      const std::vector<std::string> names = buffers_in(other);
      return is_used(other) && std::find(names.begin(), names.end(), arg.name) != names.end();
    });
    // Builtins, commands and files read inputs by their names.
    const bool read = arg.kind == ArgKind::buffer && is_input(arg.role) &&
                      reference.kind != ReferenceSpec::Kind::none && reference.kind != ReferenceSpec::Kind::kernel;
    if (arg.kind == ArgKind::constant || is_used(arg) || mapped || read || !arg.sum_of.empty()) continue;
    reader.document.fail(arg.at,
                         "the argument '" + arg.name + "' is " +
                             (spec.kernel.args ? "not in kernel.args" : "in the args of no step") +
                             ", and no tensor map, struct, table or reference uses it: add it there, or remove it");
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
    for (std::size_t i = 0; i < args->items.size(); ++i) {
      connect_addresses(reader, args->items[i], reader.spec.args[i]);
      connect_contents(reader, args->items[i], reader.spec.args[i]);
    }
  }
  if (!reader.spec.kernel.source.empty() && reader.spec.args.empty())
    reader.fail(reader.document.root().find("kernel")->at,
                "the spec has a source but no [[args]]: list what the kernel is called with");
}

SectionKeys keys_of_args() {
  return {args_section.titled(), tensor_map_section.titled(), struct_section.titled(), field_section.titled(),
          table_section.titled()};
}

}  // namespace xtune::spec
