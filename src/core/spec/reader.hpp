// Typed access to a document's nodes, and functions that every section's reader needs.
#pragma once

#include <filesystem>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/named.hpp"
#include "core/spec/document.hpp"
#include "core/spec/process_spec.hpp"
#include "core/spec/suite.hpp"

namespace xtune::spec {

/// Additional launches for [validate] repeatable without repeat: with the first one and the one after the measured
/// launches, five are compared.
inline constexpr int usual_repeats = 3;

/// Reads one document into one Spec. All functions throw Error(invalid_spec) at the node's place.
struct Reader {
  Document& document;
  Spec& spec;
  std::filesystem::path base_dir;          ///< absolute; relative paths of the spec start here
  bool check_files = true;                 ///< whether files that the spec names must exist
  std::vector<space::Parameter> listed{};  ///< the parameters as the spec has them, before -D pins any

  [[noreturn]] void fail(Position at, const std::string& message) const { document.fail(at, message); }
  /// "M: expected an integer, got a string".
  [[noreturn]] void wrong_type(const TomlNode& node, const std::string& what, const std::string& expected) const;

  /// Complains about entries that are not among keys. where: "[[args]]".
  void check_keys(const TomlNode& table, const std::string& where, const std::vector<std::string>& keys) const;

  const TomlNode& table(const TomlNode& node, const std::string& what) const;
  const TomlNode& array(const TomlNode& node, const std::string& what) const;
  std::string text(const TomlNode& node, const std::string& what) const;
  Text placed_text(const TomlNode& node, const std::string& what) const;  ///< a string, with its place
  bool boolean(const TomlNode& node, const std::string& what) const;
  std::int64_t integer(const TomlNode& node, const std::string& what, std::int64_t least,
                       std::int64_t most = std::numeric_limits<std::int64_t>::max()) const;
  double number(const TomlNode& node, const std::string& what, double least,
                double most = std::numeric_limits<double>::max()) const;
  /// A boolean, a finite number or a string.
  Value scalar(const TomlNode& node, const std::string& what) const;
  /// A string, or the text of a number or boolean.
  Text expression(const TomlNode& node, const std::string& what) const;
  /// A list of expressions, or a single one.
  std::vector<Text> expressions(const TomlNode& node, const std::string& what) const;
  /// A table of names to texts.
  std::vector<std::pair<std::string, Text>> named_texts(const TomlNode& node, const std::string& what) const;
  /// Resolves against base_dir; must be a readable regular file.
  std::filesystem::path existing_file(const TomlNode& node, const std::string& what) const;
  std::filesystem::path existing_directory(const TomlNode& node, const std::string& what) const;
  /// The position of the text in `words`, which must contain it.
  std::size_t choice(const TomlNode& node, const std::string& what, const std::vector<std::string>& words) const;
  template <class Enum, std::size_t count>
  Enum word(const TomlNode& node, const std::string& what, const base::EnumWords<Enum, count>& words) const {
    return static_cast<Enum>(choice(node, what, {words.words.begin(), words.words.end()}));
  }
  /// Fails unless the name is among `names`. message: what it is not; the nearest name follows.
  void require_among(Position at, const std::string& name, const std::vector<std::string>& names,
                     const std::string& message) const;
  /// Complains if identifier_complaint is not empty.
  void check_identifier(Position at, const std::string& name, const std::string& what,
                        bool in_expressions = true) const;
};

/// Why a path is not a readable file: "does not exist"; empty if it is.
std::string file_obstacle(const std::filesystem::path& path);

/// The names of the elements that `counts` accepts.
template <class List, class Counts>
std::vector<std::string> names_of(const List& list, const Counts& counts) {
  std::vector<std::string> names;
  for (const auto& each : list)
    if (counts(each)) names.push_back(each.name);
  return names;
}
template <class List>
std::vector<std::string> names_of(const List& list) {
  return names_of(list, [](const auto&) { return true; });
}

/// Why a spec cannot use the name, to follow "parameter 'x' ": it is not a C identifier, or it has a meaning where
/// expressions use the name. Empty: it can.
std::string identifier_complaint(const std::string& name, bool in_expressions = true);
/// Whether it is a parameter or a name of [problem]. For what is read after both.
bool names_input(const Spec& spec, const std::string& name);

/// The node's value as one of the type that `own` has: an integer stands for a float. where: "[problem]".
Value value_like(const Reader& reader, const TomlNode& node, const std::string& name, const Value& own,
                 const std::string& where);
std::string values_text(const std::vector<Value>& values);  ///< "[1, 2, ...]"

// One function for each section. They read document.root() into spec.
void read_derived(Reader& reader);
using Defines = std::vector<std::pair<std::string, std::string>>;
/// Values that the overlay changes and `defines` do not replace are listed in one note to the user.
void apply_overlay(Reader& reader, const std::string& backend, const Defines& defines = {});
void check_overlays(const Reader& reader);
/// Uses the cases of the suite, if it has any.
void read_problem(Reader& reader, const SuiteEntry* suite);
void read_space(Reader& reader);
/// The names in a key of [space.params]: one, or several with commas between them.
std::vector<std::string> parameter_names(const std::string& key);
/// Values of the parameters that `node` names; the others have their first one. What -D pins changes nothing here, so
/// that the same configuration is meant in every run. what: for errors: "validate.reference.config". hint: appended to
/// the error about a value that the parameter does not have.
Bindings read_configuration(const Reader& reader, const TomlNode& node, const std::string& what,
                            const std::string& hint = "");
/// After apply_defines: drops listed configurations that a pinned parameter excludes.
void restrict_configs(Reader& reader);
void apply_defines(Reader& reader, const Defines& defines);
/// After apply_defines: leaves these of each parameter's values.
void apply_choices(Reader& reader, const Defines& choices);
/// After apply_defines: --filter and --partition.
void add_filters(Reader& reader, const SpecOptions& options);
void read_process(Reader& reader);
void read_kernel(Reader& reader);
LaunchSpec read_launch(const Reader& reader, const TomlNode& node, const std::string& where);
/// A type, or a template text over the problem that has the name of one in every case; it is put into `text`. The type
/// is the first case's.
DType read_dtype(const Reader& reader, const TomlNode& node, const std::string& what, std::optional<Text>& text);
void read_args(Reader& reader);
/// A list of names of arguments that a kernel takes, in its order, as their numbers in Spec::args; after read_args, or
/// by it.
std::vector<std::size_t> read_argument_names(const Reader& reader, const TomlNode& node, const std::string& what);
/// After read_steps: refuses arguments that kernel.args, or the args of all steps, omit, and nothing else uses.
void check_arguments_used(const Reader& reader);
void read_validate(Reader& reader);
/// After read_validate.
void read_steps(Reader& reader);
void read_settings(Reader& reader);  ///< measure, search, metrics, candidates, dispatch
/// Reads [measure] and [search] of this table over the current settings.
void read_budget(Reader& reader, const TomlNode& table);

/// The meaning of a name for every kernel compiler, if -D NAME=value would break each of them: "a word of C++"; empty:
/// no such meaning.
std::string_view reserved_meaning(std::string_view name);

/// Calls make(); a TextError from it becomes an error of the document at its place.
template <class Make>
auto compiled(const Reader& reader, const Make& make) {
  try {
    return make();
  } catch (const TextError& error) {
    reader.document.fail(error.at, error.message);
  }
}

/// The words of a command: a list, or a text that is split. Fails at the place of an error, and for no words. remedy:
/// as of split_command.
std::vector<Text> read_words(const Reader& reader, const TomlNode& node, const std::string& what,
                             const std::string& remedy, bool may_be_empty = false);

}  // namespace xtune::spec
