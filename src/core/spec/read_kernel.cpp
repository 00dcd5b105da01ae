// [kernel], [launch], [[steps]] and [[args]]: the source, the threads that run it, and the arguments that it takes.
#include <algorithm>
#include <array>

#include "base/named.hpp"
#include "base/text.hpp"
#include "core/device/backend_facts.hpp"
#include "core/space/value.hpp"
#include "core/spec/read_values.hpp"
#include "core/spec/section.hpp"
#include "core/spec/template_text.hpp"

namespace xtune::spec {

namespace {

/// "options_<backend>" for each backend that compiles CUDA C++.
struct BackendOptions : OtherKey<std::nullptr_t> {
  static void add_names(std::vector<std::string>& names) {
    for (const std::string& backend : device::backends_of(device::SourceKind::cuda_cpp))
      names.push_back("options_" + backend);
  }
  static void read_toml(const Reader& reader, const TomlNode& table, const std::string& prefix, KernelSpec& spec) {
    for (const std::string& backend : device::backends_of(device::SourceKind::cuda_cpp))
      if (const TomlNode* const node = table.find("options_" + backend))
        forms::Texts::read(reader, *node, prefix + "options_" + backend, spec.backend_options[backend]);
  }
};

// The name becomes a directory of the store.
void read_name(const Reader& reader, const TomlNode& node, KernelSpec& spec) {
  const std::string name = spec.name = reader.text(node, "kernel.name");
  const bool plain =
      !name.empty() && name.size() <= 100 && name.front() != '.' &&
      name.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+.") == std::string::npos;
  if (!plain)
    reader.fail(
        node.at,
        "kernel.name '" + name +
            "' cannot name a directory of the store: use letters, digits and _ - + . (at most 100, not a dot first)");
  spec.entry = reader.placed_text(node, "kernel.name");
}

// A file, or the directory of a store.
void read_recording(const Reader& reader, const TomlNode& node, KernelSpec& spec) {
  const std::filesystem::path path = spec.recording =
      (reader.base_dir / reader.text(node, "kernel.recording")).lexically_normal();
  std::error_code error;
  if (reader.check_files && !std::filesystem::exists(path, error))
    reader.fail(node.at,
                "kernel.recording: " + path.string() + " does not exist (paths are relative to the spec's directory)");
}

// ISO C++20, tables 5 and 6 [lex.key]; without identifiers that have a meaning only in some contexts.
constexpr std::string_view keywords =
    "alignas alignof and and_eq asm auto bitand bitor bool break case catch char char16_t char32_t char8_t class "
    "co_await co_return co_yield compl concept const const_cast consteval constexpr constinit continue decltype "
    "default delete do double dynamic_cast else enum explicit export extern false float for friend goto if inline int "
    "long mutable namespace new noexcept not not_eq nullptr operator or or_eq private protected public register "
    "reinterpret_cast requires return short signed sizeof static static_assert static_cast struct switch template this "
    "thread_local throw true "
    "try typedef typeid typename union unsigned using virtual void volatile wchar_t while xor xor_eq "
    // [cpp.predefined] and [cpp.cond]: names that no macro may have.
    "defined __has_include __has_cpp_attribute __cplusplus __FILE__ __LINE__ __DATE__ __TIME__ __VA_ARGS__ __VA_OPT__";

// CUDA C++ Programming Guide, "Built-in Variables" and "Built-in Vector Types"; HIP has the same. x, y and z are the
// members of each of them.
constexpr std::string_view builtins = "threadIdx blockIdx blockDim gridDim warpSize dim3 uint3 x y z";

// CUDA C++ Programming Guide, "Execution Space Specifiers" and the memory space specifiers.
constexpr std::string_view specifiers =
    "__global__ __device__ __host__ __shared__ __constant__ __managed__ __launch_bounds__ __restrict__ __noinline__ "
    "__forceinline__ __grid_constant__ __cluster_dims__ __align__ __syncthreads __CUDA_ARCH__ __CUDACC__";

bool contains(std::string_view words, std::string_view name) {
  const std::vector<std::string> list = base::split(words, ' ');
  return std::ranges::find(list, name) != list.end();
}

// A compile-time parameter is a macro while the kernel's source and the vendor's headers are compiled.
void check_parameter_names(const Reader& reader) {
  for (std::size_t i = 0; i < reader.spec.parameters.size(); ++i) {
    const space::Parameter& parameter = reader.spec.parameters[i];
    const std::string_view meaning = reserved_meaning(parameter.name);
    if (parameter.compile_time && !meaning.empty())
      reader.document.fail(reader.spec.parameters_at[i], "the parameter '" + parameter.name + "' is " +
                                                             std::string(meaning) + ", and -D " + parameter.name +
                                                             "=... would break every kernel: choose another name");
  }
}

/// A macro's value is one line: text after a line end would become another line of the source.
void refuse_control_characters(const Reader& reader, const TomlNode& node, const std::string& name) {
  const auto* const text = std::get_if<std::string>(&node.value);
  if (text && std::any_of(text->begin(), text->end(), [](unsigned char c) { return c < 0x20 && c != '\t'; }))
    reader.fail(node.at, "kernel.defines: the value of '" + name +
                             "' holds a line end or another control character; a macro's value is one line");
}

/// The text of the source. Its place is the spec's file, whose lines compilers' messages name.
void read_code(const Reader& reader, const TomlNode& node, KernelSpec& spec) {
  if (!spec.source.empty())
    reader.fail(node.key_at,
                "kernel.code and kernel.source exclude each other: the source is in the spec or in a file");
  spec.code = reader.placed_text(node, "kernel.code");
  if (spec.code->text.find_first_not_of(" \t\r\n") == std::string::npos)
    reader.fail(node.at, "kernel.code is empty: give the kernel's source, or name its file with source");
  if (!node.escaped && !reader.document.verbatim(node))
    reader.fail(node.at,
                "kernel.code: TOML replaces backslashes between \"\"\" and \"\"\", so the compiler would not get the "
                "text that stands here. Write it between ''' and '''");
  spec.source = reader.spec.path;
  spec.source_at = reader.document.at(node.at);
}

void read_source_file(const Reader& reader, const TomlNode& node, KernelSpec& spec) {
  spec.source = reader.existing_file(node, "kernel.source");
  spec.source_at = reader.document.at(node.at);
}

/// The name of a __global__ function, or a template-id.
struct Entry {
  static void read(const Reader& reader, const TomlNode& node, const std::string& what, Text& entry) {
    entry = reader.placed_text(node, what);
    if (entry.text.empty()) reader.fail(node.at, what + " is empty: give the name of the __global__ function");
  }
};

void read_defines(const Reader& reader, const TomlNode& defines, KernelSpec& spec) {
  spec.defines = reader.named_texts(defines, "kernel.defines");
  for (const auto& [key, node] : defines.entries) {
    if (base::find_named(reader.spec.parameters, key))
      reader.fail(node.key_at, "kernel.defines: '" + key + "' is a parameter, which is already defined");
    reader.check_identifier(node.key_at, key, "define", false);
    refuse_control_characters(reader, node, key);
  }
}

void read_backend(const Reader& reader, const TomlNode& node, KernelSpec& spec) {
  std::vector<std::string> names = device::backends_of(device::SourceKind::kokkos);
  names.emplace_back("replay");
  spec.backend = names[reader.choice(node, "kernel.backend", names)];
}

constexpr auto kernel_section = section<KernelSpec>(
    "[kernel]", read_by("name", &read_name, "[kernel] has no name, by which the store knows the kernel"),
    read_by("source", &read_source_file), read_by("code", &read_code), key("entry", &KernelSpec::entry, Entry()),
    key("options", &KernelSpec::options, forms::Texts()), BackendOptions{"options_", {}, {}},
    read_by("defines", &read_defines), key("include_dirs", &KernelSpec::include_dirs, forms::Directory()),
    key("compile_timeout_s", &KernelSpec::compile_timeout_s, forms::Number{0.001, 1e6}),
    read_by("backend", &read_backend), read_by("recording", &read_recording), read_apart("args"));

/// repeat = "N", or with a name for the index: repeat = { k = "N" }
void read_repeat(const Reader& reader, const TomlNode& node, StepSpec& step) {
  LoopSpec& loop = step.repeat.emplace();
  Position at = node.at;
  const TomlNode* count = &node;
  if (node.is_table()) {
    if (node.entries.size() != 1) reader.fail(node.at, "repeat: expected one index: { i = \"N\" }");
    loop.index = node.entries.front().key;
    count = &node.entries.front().node;
    at = count->key_at;
  }
  loop.count = reader.expression(*count, "repeat");
  reader.check_identifier(at, loop.index, "index");
  if (names_input(reader.spec, loop.index))
    reader.fail(at, "repeat: '" + loop.index + "' is a parameter or a name of [problem]: call the index otherwise, " +
                        "repeat = { k = \"" + loop.count.text + "\" }");
}

/// Names of scalars with their values in this step.
void read_with(const Reader& reader, const TomlNode& node, StepSpec& step) {
  step.with = reader.named_texts(node, "with");
  const auto scalars = names_of(reader.spec.args, [](const ArgSpec& arg) { return arg.kind == ArgKind::scalar; });
  for (const auto& [name, value] : node.entries)
    reader.require_among(value.key_at, name, scalars, "with: '" + name + "' is not a scalar among [[args]]");
}

constexpr auto steps_section =
    section<StepSpec>("[[steps]]",
                      required("entry", &StepSpec::entry,
                               "[[steps]] has no entry, the name of the __global__ function to launch", Entry()),
                      key("when", &StepSpec::when), read_by("repeat", &read_repeat), read_by("with", &read_with),
                      keys_of(launch_section), key("args", &StepSpec::args, forms::Arguments()));

StepSpec read_step(const Reader& reader, const TomlNode& node) {
  StepSpec step;
  step.at = reader.document.at(node.at);
  steps_section.read_toml(reader, node, "", step);
  for (const char* key : {"grid", "block"})
    if (node.find(key) == nullptr) reader.fail(node.at, "the step '" + step.entry.text + "' has no " + key);
  step.launch = read_launch(reader, node, "steps");
  return step;
}

void refuse_beside_steps(const Reader& reader, const TomlNode& steps) {
  const TomlNode& root = reader.document.root();
  if (reader.spec.for_kokkos())
    reader.fail(steps.at, "[[steps]]: a Kokkos unit launches its own kernels, so it has no steps");
  if (reader.spec.space_only()) reader.fail(steps.at, "[[steps]] without a kernel: [kernel] has no source");
  for (const char* key : {"entry", "args"})
    if (const TomlNode* own = root.find("kernel")->find(key))
      reader.fail(own->key_at,
                  std::string("[kernel] ") + key + " and [[steps]] exclude each other: each step has its own " + key);
  if (const TomlNode* launch = root.find("launch"))
    reader.fail(launch->key_at, "[launch] and [[steps]] exclude each other: each step has its own grid and block");
  const ReferenceSpec& reference = reader.spec.validate.reference;
  if (reference.kind == ReferenceSpec::Kind::kernel && !reference.config && !reference.launch)
    reader.document.fail(reference.at,
                         "the reference kernel has no launch: with [[steps]], give it its own grid and block");
}

// [[args]]: the arguments in the kernel's order, and their element types, which the problem may choose.

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
  reader.check_keys(fill, "fill", {"integers", "sorted", "offsets", "one_hot", "constant", "like", "permute"});
  if (fill.find("like") != nullptr) return read_like(reader, fill, arg);
  if (fill.entries.size() != 1 || fill.find("permute") != nullptr)
    reader.fail(
        fill.at,
        "fill: expected a word or { integers = [first, end] }, as well as sorted, offsets, one_hot, constant and like");
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

void read_buffer(const Reader& reader, const TomlNode& item, ArgSpec& arg) {
  if (const TomlNode* value = item.find("value"))
    reader.fail(value->key_at,
                "the buffer '" + arg.name + "' has no value: a scalar has one, and no shape, role, fill or file");
  forbid(reader, item, {"symbol"}, "the buffer '" + arg.name + "'");
  read_shape(reader, item, arg);
  if (const TomlNode* role = item.find("role")) arg.role = reader.word(*role, "role", role_words);
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
  forbid(reader, item, {"role", "zero", "sum_of"}, what);
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
  forbid(reader, item, {"shape", "fill", "file", "role", "symbol", "zero", "sum_of"}, "the scalar '" + arg.name + "'");
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
  forbid(reader, item, {"value", "fill", "file", "role", "symbol", "zero", "sum_of"}, what);
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
constexpr auto args_section =
    section<ArgSpec>("[[args]]", read_apart("name"), read_apart("kind"), read_apart("dtype"), read_apart("shape"),
                     read_apart("role"), read_apart("zero"), read_apart("fill"), read_apart("file"),
                     read_apart("value"), read_apart("symbol"), read_apart("sum_of"));

/// Refuses keys of other kinds.
void check_keys_of_kind(const Reader& reader, const TomlNode& item, ArgKind kind) {
  const std::pair<ArgKind, std::vector<std::string>> kinds[] = {{ArgKind::tensor_map, tensor_map_section.names()},
                                                                {ArgKind::structure, struct_keys()},
                                                                {ArgKind::table, table_keys()}};
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
  std::vector<std::string> others{"shape", "fill", "role", "symbol", "zero", "sum_of"};
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

std::string_view reserved_meaning(std::string_view name) {
  if (contains(keywords, name)) return "a word of C++";
  if (contains(builtins, name)) return "a built-in name of CUDA and HIP";
  if (contains(specifiers, name)) return "a word of CUDA and HIP";
  return {};
}

LaunchSpec read_launch(const Reader& reader, const TomlNode& node, const std::string& where) {
  LaunchSpec launch;
  launch_section.read_keys(reader, node, where + ".", launch);
  return launch;
}

void read_kernel(Reader& reader) {
  KernelSpec& spec = reader.spec.kernel;
  const TomlNode* const kernel = reader.document.root().find("kernel");
  if (kernel == nullptr) reader.fail({1, 1}, "the spec has no table [kernel], which gives at least the name");
  kernel_section.read_toml(reader, *kernel, "kernel.", spec);
  const TomlNode* const launch = reader.document.root().find("launch");
  if (launch != nullptr) launch_section.read_toml(reader, *launch, "launch.", reader.spec.launch);
  if (spec.source.empty()) return;
  check_parameter_names(reader);
  if (reader.spec.for_kokkos()) {
    if (launch != nullptr)
      reader.fail(launch->at,
                  "a Kokkos unit launches itself: hand team size, vector length and tile sizes to it as scalars "
                  "([[args]] kind = \"scalar\", value = \"TEAM\") instead of [launch]");
    return;
  }
  if (reader.document.root().find("steps") != nullptr) return;
  if (launch == nullptr)
    reader.fail(
        kernel->at,
        "the spec has a source but no table [launch], which gives grid and block (or [[steps]] for several kernels)");
  for (const char* key : {"grid", "block"})
    if (launch->find(key) == nullptr) reader.fail(launch->at, std::string("[launch] has no ") + key);
}

void read_steps(Reader& reader) {
  const TomlNode* const steps = reader.document.root().find("steps");
  if (steps == nullptr) return;
  if (!steps->is_array()) reader.wrong_type(*steps, "steps", "an array of tables, [[steps]]");
  refuse_beside_steps(reader, *steps);
  if (steps->items.empty()) reader.fail(steps->at, "steps is empty: list the kernels to launch");
  for (const TomlNode& item : steps->items) reader.spec.steps.push_back(read_step(reader, item));
}

std::vector<StepSpec> steps_of(const Spec& spec) {
  if (!spec.steps.empty()) return spec.steps;
  return {{spec.kernel.entry, {}, spec.launch, spec.kernel.args, {}}};
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

SectionKeys keys_of_kernel() {
  SectionKeys keys{kernel_section.titled(), launch_section.titled(), steps_section.titled(), args_section.titled(),
                   tensor_map_section.titled()};
  for (auto& section : keys_of_values()) keys.push_back(std::move(section));
  return keys;
}

}  // namespace xtune::spec
