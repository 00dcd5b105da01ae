// Chooses the launches to capture, reads their data, and writes them as specs; the application is disturbed only by
// waits.
#include "dispatch/capture.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>
#include <fnmatch.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string_view>

#include "base/text.hpp"
#include "core/build/source_closure.hpp"
#include "core/space/value.hpp"
#include "core/spec/reader.hpp"
#include "core/spec/template_text.hpp"
#include "core/validate/npy.hpp"
#include "dispatch/spec_files.hpp"
#include "system/files.hpp"
#include "xtune/error.hpp"

namespace xtune::dispatch {

/// The problem, the arguments' bytes before the launch, and those of outputs after it.
struct CapturedLaunch {
  Bindings problem;
  std::vector<std::string> before;  ///< for each passed argument; empty for outputs
  std::vector<std::string> after;   ///< for arguments that the kernel writes; else empty
};
namespace {

spec::TomlNode parsed(const std::string& toml) {
  return spec::Document("parsed = " + toml, "").root().entries.front().node;
}
spec::TomlNode node_of(const Value& value) { return parsed(spec::toml_text(value)); }
template <class T>
spec::TomlNode list_of(const std::vector<T>& values) {
  return parsed(spec::toml_list({values.begin(), values.end()}));
}

void set(spec::TomlNode& table, const std::string& key, spec::TomlNode node) {
  if (spec::TomlNode* const found = table.find(key))
    *found = std::move(node);
  else
    table.entries.push_back({key, std::move(node)});
}

void drop(spec::TomlNode& table, const std::string& key) {
  std::erase_if(table.entries, [&](const spec::TomlEntry& entry) { return entry.key == key; });
}

spec::TomlNode& section(spec::TomlNode& root, const std::string& key) {
  if (!root.find(key)) root.entries.push_back({key, {}});
  return *root.find(key);
}

bool is_bare(const std::string& key) {
  return !key.empty() && std::all_of(key.begin(), key.end(), [](unsigned char letter) {
    return std::isalnum(letter) || letter == '_' || letter == '-';
  });
}

std::string lines_of(const spec::TomlNode& table) {
  std::string text;
  for (const spec::TomlEntry& entry : table.entries)
    text += (is_bare(entry.key) ? entry.key : spec::toml_string(entry.key)) + " = " + spec::render(entry.node) + "\n";
  return text;
}

std::string text_of_document(const spec::TomlNode& root) {
  std::string text;
  for (const spec::TomlEntry& entry : root.entries) {
    if (!entry.node.is_array()) {
      text += "\n[" + entry.key + "]\n" + lines_of(entry.node);
      continue;
    }
    for (const spec::TomlNode& item : entry.node.items) text += "\n[[" + entry.key + "]]\n" + lines_of(item);
  }
  return text;
}

validate::NpyArray array_of(const spec::ArgSpec& argument, const std::vector<std::uint64_t>& shape,
                            const std::string& bytes) {
  validate::NpyArray array{argument.dtype, shape, {}};
  const auto contents = std::as_bytes(std::span(bytes));
  array.data.assign(contents.begin(), contents.end());
  return array;
}

/// Writes spec.toml, the source with its includes and the .npy files into the directory, the spec last: the loaded spec
/// with the launch's problem, data and outputs instead of rules. They contain no paths outside of it.
class Writer {
 public:
  Writer(const std::filesystem::path& folder, const spec::Spec& spec, const ArgumentPlan& plan,
         const device::DeviceInfo& device, const CapturedLaunch& launch)
      : folder_(folder),
        spec_(spec),
        plan_(plan),
        device_(device),
        launch_(launch),
        document_(spec.text ? *spec.text : "", spec.path.filename().string()) {
    spec::Spec unused;
    spec::Reader reader{document_, unused, spec.path.parent_path(), false};
    spec::apply_overlay(reader, spec.backend);
  }

  void write() {
    spec::TomlNode& root = document_.root();
    drop(root, "on");
    drop(root, "cases");
    write_problem(root);
    write_space(root);
    write_arguments(root);
    write_sources(root);
    const std::string comment = "# Captured: one launch of '" + spec_.kernel.name + "' in a running program, on " +
                                device_.name + " (" + device_.arch + "). `xtune run spec.toml` tunes it.\n";
    const std::string text = comment + text_of_document(root);
    spec::parse_spec(text, "spec.toml", folder_);  // throws if it could not be read again
    system::write_file_atomically(folder_ / "spec.toml", text);
  }

 private:
  void write_problem(spec::TomlNode& root) {
    spec::TomlNode problem;
    for (const auto& [name, value] : launch_.problem) set(problem, name, node_of(value));
    if (!launch_.problem.empty()) set(root, "problem", std::move(problem));
  }

  /// With the changes of -D and overlays.
  void write_space(spec::TomlNode& root) {
    spec::TomlNode params;
    for (const space::Parameter& parameter : spec_.parameters)
      set(params, parameter.name,
          parsed(fmt::format("{{ values = {}, compile_time = {} }}", spec::toml_list(parameter.values),
                             parameter.compile_time)));
    spec::TomlNode& space = section(root, "space");
    set(space, "params", std::move(params));
    if (!spec_.configs) return;
    std::string csv;
    for (const space::Parameter& parameter : spec_.parameters) csv += (csv.empty() ? "" : ",") + parameter.name;
    csv += "\n";
    for (const auto& row : *spec_.configs) {
      for (std::size_t i = 0; i < row.size(); ++i)
        csv += (i ? "," : "") + to_text(spec_.parameters[i].values.at(row[i]));
      csv += "\n";
    }
    system::write_file_atomically(folder_ / "configs.csv", csv);
    drop(space, "constraints");
    set(space, "configs", node_of(std::string("configs.csv")));
  }

  std::vector<std::uint64_t> shape_of(const spec::ArgSpec& argument) const {
    const Bindings facts = device::device_facts(device_);
    const space::Lookup names = spec::lookup_names(launch_.problem, facts);
    std::vector<std::uint64_t> shape;
    for (const spec::Text& text : argument.shape)
      shape.push_back(static_cast<std::uint64_t>(spec::evaluate_integer(text, names)));
    return shape;
  }

  void write_arguments(spec::TomlNode& root) {
    std::vector<const spec::ArgSpec*> outputs;
    const spec::ArgSpec* largest = nullptr;
    std::size_t most = 0;
    for (std::size_t i = 0; i < plan_.passed_count(); ++i) {
      const spec::ArgSpec& argument = plan_.passed(i);
      spec::TomlNode& node = argument_node(root, argument.name);
      if (has_value(argument.kind)) {
        write_value(node, argument, launch_.before[i]);
        continue;
      }
      if (argument.role == spec::ArgRole::scratch) continue;
      const std::vector<std::uint64_t> shape = shape_of(argument);
      if (argument.role != spec::ArgRole::in) {
        outputs.push_back(&argument);
        if (!largest || launch_.after[i].size() > most) largest = &argument;
        most = std::max(most, launch_.after[i].size());
        validate::write_npy(folder_ / (argument.name + "-after.npy"), array_of(argument, shape, launch_.after[i]));
      }
      if (argument.role == spec::ArgRole::out) continue;
      validate::write_npy(folder_ / (argument.name + ".npy"), array_of(argument, shape, launch_.before[i]));
      drop(node, "fill");
      set(node, "shape",
          parsed(
              fmt::format("[{}]", fmt::join(shape, ", "))));  // as it was: its expression may depend on another device
      set(node, "file", node_of(argument.name + ".npy"));
    }
    write_reference(root, outputs, largest);
  }

  spec::TomlNode& argument_node(spec::TomlNode& root, const std::string& name) const {
    for (spec::TomlNode& item : section(root, "args").items)
      if (const spec::TomlNode* const own = item.find("name"); own && own->value == Value(name)) return item;
    throw Error(ErrorKind::unsupported, "the spec's text has no argument '" + name + "'");
  }

  void write_value(spec::TomlNode& node, const spec::ArgSpec& argument, const std::string& bytes) const {
    if (!buffers_in(argument).empty())
      throw Error(ErrorKind::unsupported, "a spec cannot say the addresses in '" + argument.name + "'");
    if (argument.kind == spec::ArgKind::structure) {
      system::write_file_atomically(folder_ / (argument.name + ".bin"), bytes);
      for (const char* key : {"dtype", "value", "fields"}) drop(node, key);
      set(node, "kind", node_of(std::string("struct")));
      return set(node, "file", node_of(argument.name + ".bin"));
    }
    if (launch_.problem.contains(argument.value->text)) return;
    const auto* const element = reinterpret_cast<const std::byte*>(bytes.data());
    const double number = spec::decode(argument.dtype, element);
    if (spec::is_complex(argument.dtype))
      throw Error(ErrorKind::unsupported, "a spec cannot say the value of the scalar '" + argument.name + "'");
    if (spec::is_floating(argument.dtype)) return set(node, "value", node_of(expression_text(Value(number))));
    std::int64_t whole = static_cast<std::int64_t>(number);
    if (argument.dtype == DType::i64) std::memcpy(&whole, element, sizeof whole);
    set(node, "value", node_of(std::to_string(whole)));
  }

  /// Checks the outputs of the launch. If it wrote several outputs, which need not all be results, uses the spec's own
  /// checks; if the spec has none that can be copied, checks all outputs.
  void write_reference(spec::TomlNode& root, const std::vector<const spec::ArgSpec*>& outputs,
                       const spec::ArgSpec* largest) {
    using Kind = spec::ReferenceSpec::Kind;
    const Kind kind = spec_.validate.reference.kind;
    // A configuration need not be among those that -D left.
    const bool computed = (kind == Kind::kernel && !spec_.validate.reference.config) || kind == Kind::builtin;
    if (outputs.empty() || (outputs.size() > 1 && computed)) return;
    spec::TomlNode reference;
    if (outputs.size() == 1 || kind == Kind::file) {
      std::string name = largest->name;
      if (kind == Kind::file && !spec_.validate.reference.output.empty()) name = spec_.validate.reference.output;
      set(reference, "file", node_of(name + "-after.npy"));
      set(reference, "output", node_of(name));
    } else {
      // A file can describe one output; a command can write all. Names of arguments are words for a shell.
      std::string copies;
      for (const spec::ArgSpec* output : outputs)
        copies += fmt::format("{}cp -- {}-after.npy \"$XTUNE_OUTPUTS/{}.npy\"", copies.empty() ? "" : " && ",
                              output->name, output->name);
      set(reference, "command", list_of<std::string>({"sh", "-c", copies}));
    }
    set(section(root, "validate"), "reference", std::move(reference));
  }

  void write_sources(spec::TomlNode& root) {
    std::vector<std::filesystem::path> folders = spec_.kernel.include_dirs;
    std::vector<spec::SourceText> sources{spec::read_source(spec_, spec_.kernel.source)};
    // A source in the spec becomes a file beside it: the captured spec is for reading, too.
    if (spec_.kernel.code) sources.front().path += ".cu";
    const std::filesystem::path place = sources.front().path, reference = spec_.validate.reference.source;
    if (!reference.empty() && reference != spec_.kernel.source) sources.push_back(spec::read_source(spec_, reference));
    std::vector<std::string> options;
    for (const spec::Text& option : spec_.kernel.options) options.push_back(option.text);
    for (const std::string& folder : build::include_options(options).folders) folders.emplace_back(folder);
    const SourceCopy copy(sources, folders);
    copy.write(folder_);
    spec::TomlNode& kernel = section(root, "kernel");
    drop(kernel, "code");
    set(kernel, "source", node_of(copy.place_of(place)));
    drop(kernel, "include_dirs");
    if (!copy.folders().empty()) set(kernel, "include_dirs", list_of(copy.folders()));
    if (spec::TomlNode* const validate = root.find("validate"))
      if (spec::TomlNode* const own = validate->find("reference"); own && own->find("source"))
        set(*own, "source", node_of(copy.place_of(reference == spec_.kernel.source ? place : reference)));
  }

  const std::filesystem::path folder_;
  const spec::Spec& spec_;
  const ArgumentPlan& plan_;
  const device::DeviceInfo& device_;
  const CapturedLaunch& launch_;
  spec::Document document_;
};

std::string environment(const char* name) {
  const char* const value = std::getenv(name);
  return value ? value : "";
}

bool names(const std::string& patterns, const std::string& kernel) {
  const std::vector<std::string> all = base::split(patterns, ',');
  return std::any_of(all.begin(), all.end(),
                     [&](const std::string& each) { return fnmatch(each.c_str(), kernel.c_str(), 0) == 0; });
}

std::uint64_t limit(const char* name, std::uint64_t usual, const std::function<void(const std::string&)>& say) {
  const std::string text = environment(name);
  if (text.empty()) return usual;
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc() && end == text.data() + text.size() && value <= (std::uint64_t{1} << 40)) return value;
  say(fmt::format("{}='{}' is not a number; {} is used", name, base::printable(text, 80), usual));
  return usual;
}

std::filesystem::path new_folder(const std::filesystem::path& place, const std::string& kernel) {
  std::filesystem::create_directories(place);
  for (int number = 1; number < 100000; ++number) {
    const std::filesystem::path folder = place / fmt::format("{}-{}", kernel, number);
    if (std::filesystem::create_directory(folder)) return folder;
  }
  throw Error(ErrorKind::io, place.string() + " is full of captures of " + kernel);
}

}  // namespace

std::unique_ptr<Capture> Capture::from_environment(const spec::Spec& spec, const ArgumentPlan& plan, Narrow narrow,
                                                   std::function<void(const std::string&)> say) {
  if (!names(environment("XTUNE_CAPTURE"), spec.kernel.name)) return nullptr;
  if (std::any_of(spec.args.begin(), spec.args.end(),
                  [](const spec::ArgSpec& argument) { return argument.kind == spec::ArgKind::constant; })) {
    say(spec.kernel.name +
        ": its launches are not captured: the contents of its constants are not among the arguments");
    return nullptr;
  }
  return std::unique_ptr<Capture>(new Capture(spec, plan, std::move(narrow), std::move(say)));
}

Capture::Capture(const spec::Spec& spec, const ArgumentPlan& plan, Narrow narrow,
                 std::function<void(const std::string&)> say)
    : spec_(spec),
      plan_(plan),
      narrow_(std::move(narrow)),
      say_(std::move(say)),
      folder_(environment("XTUNE_CAPTURE_DIR")),
      launches_left_(limit("XTUNE_CAPTURE_COUNT", 8, say_)),
      bytes_left_(limit("XTUNE_CAPTURE_MB", 1024, say_) << 20) {
  if (folder_.empty()) folder_ = "xtune-capture";
  // An absolute path does not change with the program's working directory. If the latter has been removed, writing
  // reports it.
  std::error_code failed;
  if (std::filesystem::path whole = std::filesystem::absolute(folder_, failed); !failed) folder_ = std::move(whole);
}

bool Capture::wants(const Bindings& problem, const std::vector<std::uint64_t>& bytes) {
  if (launches_left_ == 0 || !seen_.insert(problem).second) return false;
  std::uint64_t total = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const bool twice = plan_.passed(i).role == spec::ArgRole::inout;
    if (__builtin_add_overflow(total, bytes[i], &total)) return false;
    if (twice && __builtin_add_overflow(total, bytes[i], &total)) return false;
  }
  if (total > bytes_left_) {
    say_(fmt::format("{}, {}: not captured: its data take {}, and {} are left (XTUNE_CAPTURE_MB)", spec_.kernel.name,
                     space::shown_text(problem), base::human_bytes(total), base::human_bytes(bytes_left_)));
    return false;
  }
  bytes_left_ -= total;
  --launches_left_;
  return true;
}

void Capture::read_all(backend::Runtime& runtime, void* stream, const void* const* values,
                       const std::vector<std::uint64_t>& bytes, bool after, std::vector<std::string>& into) const {
  into.resize(bytes.size());
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const spec::ArgSpec& argument = plan_.passed(i);
    if (has_value(argument.kind)) {
      if (!after) into[i].assign(static_cast<const char*>(values[i]), argument.bytes_by_value());
      continue;
    }
    if (!(after ? spec::is_output(argument.role) : spec::is_input(argument.role))) continue;
    const void* address = nullptr;
    __builtin_memcpy(&address, values[i], sizeof address);
    if (const auto has = runtime.accessible_bytes(address, bytes[i]); has && *has < bytes[i])
      throw Error(ErrorKind::invalid_argument,
                  fmt::format("'{}' has {} bytes of the device's memory and needs {}", argument.name, *has, bytes[i]));
    into[i].resize(bytes[i]);
    runtime.read(into[i].data(), address, bytes[i], stream);
  }
}

int Capture::around(backend::Runtime& runtime, void* stream, const void* const* values,
                    const std::function<Bindings()>& problem, const std::function<int()>& launch) noexcept {
  CapturedLaunch captured;
  std::vector<std::uint64_t> bytes;
  device::DeviceInfo device;
  bool wanted = false;
  const auto guarded = [&](const auto& work) {
    try {
      work();
    } catch (const std::exception& error) {
      wanted = false;
      try {
        say_(fmt::format("{}: a launch is not captured: {}", spec_.kernel.name, error.what()));
      } catch (...) {
      }
    }
  };
  guarded([&] {
    const std::lock_guard lock(mutex_);
    if (launches_left_ == 0 || runtime.is_capturing(stream)) return;
    captured.problem = problem();
    if (seen_.contains(captured.problem)) return;
    device = runtime.device();
    bytes = plan_.buffer_bytes(captured.problem, device, {});
    wanted = wants(captured.problem, bytes);
    if (wanted) read_all(runtime, stream, values, bytes, false, captured.before);
  });
  const int status = launch();
  if (!wanted || status != 0) return status;
  guarded([&] {
    read_all(runtime, stream, values, bytes, true, captured.after);
    write(device, captured);
  });
  return status;
}

void Capture::write(const device::DeviceInfo& device, const CapturedLaunch& launch) {
  const std::lock_guard lock(mutex_);
  const std::filesystem::path folder = new_folder(folder_, spec_.kernel.name);
  try {
    spec::Spec narrowed = spec_;
    if (narrow_) narrow_(narrowed, launch.problem, device::device_facts(device));
    Writer(folder, narrowed, plan_, device, launch).write();
  } catch (...) {
    std::error_code ignored;
    std::filesystem::remove_all(folder, ignored);
    throw;
  }
  say_(fmt::format("{}, {}: captured; xtune run {}", spec_.kernel.name, space::shown_text(launch.problem),
                   (folder / "spec.toml").string()));
}

}  // namespace xtune::dispatch
