// [kernel] and [launch]: the source, and the threads that run it.
#include <algorithm>

#include "base/named.hpp"
#include "core/device/backend_facts.hpp"
#include "core/spec/reader.hpp"

namespace xtune::spec {

namespace {

std::vector<Text> options(const Reader& reader, const TomlNode& kernel, const std::string& key) {
  std::vector<Text> texts;
  const TomlNode* const node = kernel.find(key);
  if (node == nullptr) return texts;
  for (const TomlNode& item : reader.array(*node, "kernel." + key).items) {
    reader.text(item, "kernel." + key);
    texts.push_back(reader.expression(item, "kernel." + key));
  }
  return texts;
}

// The name becomes a directory of the store.
void check_name(const Reader& reader, const TomlNode& node, const std::string& name) {
  const bool plain =
      !name.empty() && name.size() <= 100 && name.front() != '.' &&
      name.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+.") == std::string::npos;
  if (!plain)
    reader.fail(
        node.at,
        "kernel.name '" + name +
            "' cannot name a directory of the store: use letters, digits and _ - + . (at most 100, not a dot first)");
}

void read_include_dirs(const Reader& reader, const TomlNode& node) {
  for (const TomlNode& item : reader.array(node, "kernel.include_dirs").items) {
    const std::filesystem::path path = (reader.base_dir / reader.text(item, "kernel.include_dirs")).lexically_normal();
    std::error_code error;
    if (reader.check_files && !std::filesystem::is_directory(path, error))
      reader.fail(item.at, "kernel.include_dirs: " + path.string() +
                               " is not a directory (paths are relative to the spec's directory)");
    reader.spec.kernel.include_dirs.push_back(path);
  }
}

// A file, or the directory of a store.
std::filesystem::path existing_recording(const Reader& reader, const TomlNode& node) {
  const std::filesystem::path path = (reader.base_dir / reader.text(node, "kernel.recording")).lexically_normal();
  std::error_code error;
  if (reader.check_files && !std::filesystem::exists(path, error))
    reader.fail(node.at,
                "kernel.recording: " + path.string() + " does not exist (paths are relative to the spec's directory)");
  return path;
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

std::vector<Text> sizes(const Reader& reader, const TomlNode& launch, const std::string& key,
                        const std::string& where) {
  const TomlNode* const node = launch.find(key);
  if (node == nullptr) return {};
  // A single extent is x.
  if (!node->is_array()) return {reader.expression(*node, where + "." + key)};
  std::vector<Text> texts = reader.expressions(*node, where + "." + key);
  if (texts.empty() || texts.size() > 3)
    reader.fail(node->at,
                where + "." + key + " needs 1 to 3 entries, for x, y and z, got " + std::to_string(texts.size()));
  return texts;
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

void read_kernel_source(const Reader& reader, const TomlNode& kernel, KernelSpec& spec) {
  const TomlNode* const source = kernel.find("source");
  const TomlNode* const code = kernel.find("code");
  if (source != nullptr && code != nullptr)
    reader.fail(code->key_at,
                "kernel.code and kernel.source exclude each other: the source is in the spec or in a file");
  if (code != nullptr) read_code(reader, *code, spec);
  if (source == nullptr) return;
  spec.source = reader.existing_file(*source, "kernel.source");
  spec.source_at = reader.document.at(source->at);
}

}  // namespace

LaunchSpec read_launch(const Reader& reader, const TomlNode& node, const std::string& where) {
  LaunchSpec launch;
  launch.grid = sizes(reader, node, "grid", where);
  launch.block = sizes(reader, node, "block", where);
  launch.cluster = sizes(reader, node, "cluster", where);
  if (const TomlNode* shared = node.find("shared")) launch.shared = reader.expression(*shared, where + ".shared");
  return launch;
}

void read_kernel(Reader& reader) {
  KernelSpec& spec = reader.spec.kernel;
  const TomlNode* const kernel = reader.document.root().find("kernel");
  if (kernel == nullptr) reader.fail({1, 1}, "the spec has no table [kernel], which gives at least the name");
  std::vector<std::string> keys{"name",    "source",    "code",         "entry",
                                "options", "defines",   "include_dirs", "compile_timeout_s",
                                "backend", "recording", "args"};
  for (const std::string& backend : device::backends_of(device::SourceKind::cuda_cpp))
    keys.push_back("options_" + backend);
  reader.check_keys(reader.table(*kernel, "[kernel]"), "[kernel]", keys);
  const TomlNode* const name = kernel->find("name");
  if (name == nullptr) reader.fail(kernel->at, "[kernel] has no name, by which the store knows the kernel");
  spec.name = reader.text(*name, "kernel.name");
  check_name(reader, *name, spec.name);
  read_kernel_source(reader, *kernel, spec);
  spec.entry = reader.placed_text(*name, "kernel.name");
  if (const TomlNode* entry = kernel->find("entry")) {
    if (reader.text(*entry, "kernel.entry").empty())
      reader.fail(entry->at, "kernel.entry is empty: give the name of the __global__ function");
    spec.entry = reader.expression(*entry, "kernel.entry");
  }
  spec.options = options(reader, *kernel, "options");
  for (const std::string& backend : device::backends_of(device::SourceKind::cuda_cpp))
    spec.backend_options[backend] = options(reader, *kernel, "options_" + backend);
  if (const TomlNode* defines = kernel->find("defines")) {
    spec.defines = reader.named_texts(*defines, "kernel.defines");
    for (const auto& [key, node] : defines->entries) {
      if (base::find_named(reader.spec.parameters, key))
        reader.fail(node.key_at, "kernel.defines: '" + key + "' is a parameter, which is already defined");
      reader.check_identifier(node.key_at, key, "define");
      refuse_control_characters(reader, node, key);
    }
  }
  if (const TomlNode* include_dirs = kernel->find("include_dirs")) read_include_dirs(reader, *include_dirs);
  if (const TomlNode* timeout = kernel->find("compile_timeout_s"))
    spec.compile_timeout_s = reader.number(*timeout, "kernel.compile_timeout_s", 0.001, 1e6);

  if (const TomlNode* backend = kernel->find("backend")) {
    std::vector<std::string> names = device::backends_of(device::SourceKind::kokkos);
    names.emplace_back("replay");
    reader.choice(*backend, "kernel.backend", names);
    spec.backend = reader.text(*backend, "kernel.backend");
  }
  if (const TomlNode* recording = kernel->find("recording")) spec.recording = existing_recording(reader, *recording);

  const TomlNode* const launch = reader.document.root().find("launch");
  if (launch != nullptr) {
    reader.check_keys(reader.table(*launch, "[launch]"), "[launch]", {"grid", "block", "shared", "cluster"});
    reader.spec.launch = read_launch(reader, *launch, "launch");
  }
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

}  // namespace xtune::spec
