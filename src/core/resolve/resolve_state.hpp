// The state of a CandidateResolver, shared by its source files.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/build/keyed_files.hpp"
#include "core/build/manifest.hpp"
#include "core/build/named_files.hpp"
#include "core/build/source_closure.hpp"
#include "core/device/backend_facts.hpp"
#include "core/resolve/resolve.hpp"
#include "core/resolve/unit_source.hpp"
#include "core/spec/spec.hpp"
#include "core/spec/template_text.hpp"

namespace xtune::spec {
struct ProcessCommand;
class CommandWord;
}  // namespace xtune::spec

namespace xtune::resolve {

/// A constant with the parsed text of its symbol.
struct ArgumentText {
  const spec::ArgSpec* argument;
  spec::CompiledText text;
};
using ArgumentTexts = std::vector<ArgumentText>;

/// A field of a value with its parsed texts; a scalar has one.
struct FieldTexts {
  spec::FieldSpec field;
  std::vector<spec::CompiledText> value;
  std::optional<spec::CompiledText> offset{}, stride{}, entries{};
  const spec::ArgSpec* of = nullptr;               ///< of addresses: the buffer
  std::vector<spec::CompiledText> buffer_shape{};  ///< of `of`
};

/// An argument whose bytes are made for each configuration.
struct ValueTexts {
  const spec::ArgSpec* argument;
  std::vector<FieldTexts> fields;

  std::vector<spec::CompiledText> all() const;
};

/// A scratch buffer with its parsed shape.
struct ScratchTexts {
  const spec::ArgSpec* argument;
  std::vector<spec::CompiledText> shape;
};

/// A tensor map with its parsed texts.
struct TensorMapTexts {
  const spec::ArgSpec* argument;
  const spec::ArgSpec* of;
  /// By key; "of" has the shape of `of`. Empty: the spec does not have the key.
  std::vector<std::pair<std::string, std::vector<spec::CompiledText>>> values;

  /// The texts of a key that values has.
  const std::vector<spec::CompiledText>& texts(std::string_view key) const;
  /// The texts of these keys; by default of all.
  std::vector<const spec::CompiledText*> all(const std::set<std::string>& keys = {}) const;
  /// The place of a key's value; of the argument, if the spec does not have the key.
  spec::Location at(const std::string& key) const;
};

/// Arguments that are buffers of one configuration, or describe a buffer for it.
struct BufferTexts {
  std::vector<ScratchTexts> scratch;
  std::vector<TensorMapTexts> maps;
};

/// Of the tuned kernel and of the reference's.
struct Sources {
  UnitSource tuned, reference;
};

/// The sources of a program, and the program that builds it.
struct ProgramFiles {
  std::shared_ptr<const build::KeyedFiles> keyed;
  std::set<std::filesystem::path> paths;  ///< canonical
};

/// The texts of a launch, parsed.
struct CompiledLaunch {
  std::vector<spec::CompiledText> grid, block, cluster;
  std::optional<spec::CompiledText> shared;
  bool cooperative = false;
};

/// One of the kernels that are launched, with its texts parsed.
struct CompiledStep {
  /// What it gives a scalar instead of the scalar's own value.
  struct With {
    std::size_t argument;  ///< number among the arguments that kernels take
    ValueTexts value;
  };
  std::size_t number;  ///< among [[steps]], from 1; 0: the only kernel of a spec without steps
  spec::CompiledText entry;
  std::optional<spec::CompiledText> when;
  CompiledLaunch launch;
  std::optional<std::vector<std::size_t>> arguments;  ///< as device::Step
  std::vector<std::string> argument_names;            ///< of `arguments`
  std::string index{};                                ///< of its loop
  std::optional<spec::CompiledText> repeat{};         ///< the loop's count; unset: it is in no loop
  std::vector<With> with{};

  bool alternates_with(const CompiledStep& next) const;  ///< it is in the same loop
  std::vector<spec::CompiledText> launch_texts() const;  ///< of launch and `with`
};

/// The index of a loop in one of its repetitions.
struct LoopIndex {
  std::string name;
  Value value;
};
/// One launch of a configuration.
struct StepAt {
  const CompiledStep* step;
  std::optional<LoopIndex> index;  ///< unset: it is in no loop
};

/// Strings are quoted, so that "1" differs from 1.
std::string typed_text(const Value& value);
/// "N // 128 = 0"; only the value where the text is the value itself.
std::string text_and_value(const std::string& text, const std::string& value);

/// The number of the entry among those so far, to which it is added if it is new.
std::size_t number_of(const std::string& entry, std::vector<std::string>& entries);

/// What of a command counts: only files, or directories with their files as well.
enum class Named { files, directories };

/// The files that words name, as found at first use.
struct NamedContents {
  std::map<std::filesystem::path, bool> there;
  std::map<std::filesystem::path, std::string> digests{};
  std::map<std::string, std::vector<std::string>> libraries{};  ///< of programs, by path and the loader's environment
  std::map<std::string, std::string> in_path{};                 ///< programs by their bare names; empty: not found
};

/// The names with their values, for keys.
std::string key_text(const Bindings& bindings);
/// The sources' part in the key of a program's build.
std::string source_manifest(const spec::ProcessSpec& process, build::KeyedFiles& files);
/// Whether kernels for the device are compiled by a compiler of this kind.
bool has_compiler(const device::DeviceInfo& device, device::CompilerKind kind);

/// What earlier compiles read besides the files that sources show.
struct KnownManifests {
  std::filesystem::path store;                                         ///< where they are; empty: nowhere
  std::map<std::string, std::vector<build::ManifestNow>> by_source{};  ///< by path, the newest first
  int learned = 0;                                                     ///< how often that has changed

  /// Reads them at first use.
  std::vector<build::ManifestNow>& of(const std::string& backend, const std::string& source_name);
  /// After of(): the digest of the one with which the store has an artifact of this request; else of the newest.
  std::string digest_of_stored(const build::CompileRequest& request);
};

/// The texts of a spec for one problem and device, parsed, and their values for configurations.
struct SpecTexts {
  SpecTexts(const spec::Spec& spec_, const space::Space& space_, Bindings problem_, device::DeviceInfo device_);

  /// Parameters of config first, then the index, then constants. Owns neither.
  space::Lookup lookup(const space::Config& config, const LoopIndex* index = nullptr) const;
  const Value* constant(std::string_view name) const;
  /// Calls use(text); a failure becomes NoValue if the text depends on a parameter.
  template <class Use>
  auto valued(const spec::CompiledText& text, const space::Config& config, const Use& use,
              const LoopIndex* index = nullptr) const {
    try {
      return use(text);
    } catch (const spec::TextError& error) {
      reject({&text}, config, error.at, error.message + " in \"" + text.source().text + "\"", Limit::none, index);
    }
  }
  /// Throws NoValue with the values that the texts name, if one of them is a parameter's. Else each configuration has
  /// these values: throws Error(invalid_spec), or for a limit of this device NoValue.
  enum class Limit { none, of_device };
  [[noreturn]] void reject(const std::vector<const spec::CompiledText*>& texts, const space::Config& config,
                           const spec::Location& at, const std::string& complaint, Limit limit = Limit::none,
                           const LoopIndex* index = nullptr) const;
  /// The template text's expansion, or the error.
  std::string expanded(const spec::CompiledText& text, const space::Config& config) const;
  Value value_of(const spec::CompiledText& text, const space::Config& config, const LoopIndex* index = nullptr) const;
  std::int64_t integer_of(const spec::CompiledText& text, const space::Config& config,
                          const LoopIndex* index = nullptr) const;
  measure::ScalarArgument bytes_of(const ValueTexts& value, const space::Config& config,
                                   const LoopIndex* index = nullptr) const;
  /// To the end of a table, or into a struct.
  void add_addresses(const ValueTexts& value, const FieldTexts& field, const space::Config& config,
                     measure::ScalarArgument& to) const;
  /// The launches of a configuration: steps whose condition is true, or has no value; loops as often as they repeat.
  std::vector<StepAt> steps_at(const space::Config& config) const;
  /// Throws NoValue if a step's condition or entry, an option, a define or the name of the file of controls has no
  /// value for this configuration; Error(invalid_spec) if that file cannot be read.
  void check_templates(const space::Config& config) const;
  device::Launch resolve(const CompiledLaunch& texts, const space::Config& config,
                         const LoopIndex* index = nullptr) const;
  /// Parts of the measurement key.
  std::string value_text(const ValueTexts& value, const space::Config& config, const LoopIndex* index) const;
  std::string runtime_part(const space::Config& config) const;
  std::string scalars_part(const space::Config& config) const;

  /// The path of the file for ptxas; empty: none. Only check_templates looks for it.
  std::string controls_file(const space::Config& config) const;

  // For a spec with [process].
  /// Throws NoValue.
  device::ProgramCall program_call(const space::Config& config) const;
  std::vector<std::string> call_texts(const spec::ProcessCommand& command, const space::Config& config) const;
  std::string call_text(const spec::CommandWord& word, const space::Config& config) const;

  const spec::Spec& spec;
  const space::Space& space;
  const Bindings problem;
  const device::DeviceInfo device;
  Bindings constants;               ///< the problem and "device.*"
  std::vector<spec::ArgSpec> args;  ///< the spec's, with the types that they have in this problem

  // In the order of the spec; values without the other arguments.
  std::vector<CompiledStep> steps;
  std::vector<spec::CompiledText> options, reference_options, defines;
  std::vector<spec::CompiledText> controls;  ///< at most one; not the reference's, which must stay right
  std::vector<ValueTexts> by_value;
  ArgumentTexts variables;
  BufferTexts buffers;
  CompiledLaunch reference_launch;
};

/// The texts, and what was read for keys.
struct CandidateResolver::State : SpecTexts {
  State(const spec::Spec& spec_, const space::Space& space_, Bindings problem_, device::DeviceInfo device_,
        std::string arch_, std::string toolchain_, bool sanitize_);

  // All except the last need the mutex.
  /// The files that the words of a call or a build name, without those that the spec's commands write, and only if they
  /// existed at first use: a file that appears during the run is made by the run.
  std::vector<build::NamedFile> files_of_call(const std::vector<std::string>& call_texts, Named kinds = Named::files);
  /// The digest of the file's content at first use, or of names and contents in a directory; from then on the files are
  /// checked before each record.
  std::string digest_of(const std::filesystem::path& path);
  std::string command_text(const std::vector<spec::Text>& texts);
  /// " files [...] libraries [...]" for the key of a call; the libraries are those of files that are programs. Empty:
  /// it names only files that the artifact's key describes.
  std::string call_files_text(const device::ProgramCall& call);

  /// All but entry, options and variables.
  build::CompileRequest request(const space::Config& config, const UnitSource& from) const;
  build::CompileRequest program_request(const space::Config& config) const;
  /// Everything the request's source includes; read once for each set of directories, and for each set of definitions
  /// if #include MACRO depends on them.
  struct ReadSource {
    std::string digest;
    std::shared_ptr<const build::KeyedFiles> files;
  };
  ReadSource read(const build::CompileRequest& request);
  /// Adds to a request the files and the toolchain that its key describes.
  build::CompileRequest keyed(build::CompileRequest request);

  const std::string arch, toolchain;
  const bool sanitize;
  Sources sources;
  ProgramFiles program;
  std::mutex mutex;                                ///< guards the members below, which are set at first use
  std::map<std::string, ReadSource> read_sources;  ///< by source path, directories, options that name files
  build::ScannedFiles scanned;                     ///< of all read_sources
  KnownManifests manifests;
  std::map<std::string, std::set<std::string>> computing;  ///< for read_sources: names whose definitions count as well
  build::KeyedFiles data_files;                            ///< files in the measurement key besides the artifact
  NamedContents contents;                                  ///< of files that words name
  struct {
    std::optional<space::Config> config;
    std::optional<ReferenceValues> values;
    std::optional<std::string> reads;  ///< digest of what its compile read, here or earlier
    int changes = 0;                   ///< of `reads`

    /// Empties the parts of keys that were made with others.
    void set_reads(const std::string& digest, build::KeyParts& parts) {
      if (digest != reads.value_or("")) parts.clear(), ++changes;
      reads = digest;
    }
  } of_reference;
  build::KeyParts constant_parts;  ///< parts of the measurement key that are the same for all configurations
};

}  // namespace xtune::resolve
