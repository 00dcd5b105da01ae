// Arguments whose bytes xtune puts together: vectors, structs and tables of addresses.
#include "core/spec/read_values.hpp"

#include <algorithm>
#include <set>

#include "base/named.hpp"
#include "core/spec/template_text.hpp"
#include "system/files.hpp"

namespace xtune::spec {
namespace {

/// Of all parameters of a kernel (CUDA C++ Programming Guide, "Function Parameters").
constexpr std::size_t max_value_bytes = 32764;

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

}  // namespace

std::optional<std::pair<DType, std::uint32_t>> vector_type(const std::string& word) {
  const std::size_t x = word.size() < 3 ? 0 : word.size() - 2;
  if (x == 0 || word[x] != 'x' || word[x + 1] < '2' || word[x + 1] > '4') return std::nullopt;
  const auto dtype = dtype_from_string(word.substr(0, x));
  if (!dtype || is_complex(*dtype)) return std::nullopt;
  return std::pair(*dtype, static_cast<std::uint32_t>(word[x + 1] - '0'));
}

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

std::vector<std::string> struct_keys() { return struct_section.names(); }
std::vector<std::string> table_keys() { return table_section.names(); }
SectionKeys keys_of_values() { return {struct_section.titled(), field_section.titled(), table_section.titled()}; }

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

std::vector<std::string> buffers_in(const ArgSpec& argument) {
  std::vector<std::string> names;
  if (argument.map) names.push_back(argument.map->of);
  for (const FieldSpec& field : argument.fields)
    if (!field.of.empty()) names.push_back(field.of);
  return names;
}

}  // namespace xtune::spec
