// [kernel], [launch] and [[steps]]: the source, and the threads that run it.
#include <algorithm>

#include "base/named.hpp"
#include "base/text.hpp"
#include "core/device/backend_facts.hpp"
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
    key("controls", &KernelSpec::controls, forms::Texts()), read_by("defines", &read_defines),
    key("include_dirs", &KernelSpec::include_dirs, forms::Directory()),
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

SectionKeys keys_of_kernel() { return {kernel_section.titled(), launch_section.titled(), steps_section.titled()}; }

}  // namespace xtune::spec
