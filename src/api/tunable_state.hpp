// The state of a Tunable: the parts of a spec's text, and data that text cannot represent; and the spec made of them.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/spec/document.hpp"
#include "core/spec/spec.hpp"
#include "system/files.hpp"
#include "xtune/tunable.hpp"

namespace xtune {

/// Where a Tunable was read from.
struct SpecFile {
  std::filesystem::path path;  ///< absolute
  Bindings defines;
};
/// None for one that was built in code, or from text.
std::optional<SpecFile> spec_file_of(const Tunable& tunable);

/// A copy whose spec has these values, too.
Tunable with_defines(const Tunable& tunable, const Bindings& defines);

/// The parsed spec, with the overlay of a backend if one is named. It does not contain data and callbacks; sources
/// given as text are in files that exist as long as the Tunable or a copy of it. Throws Error(invalid_spec).
spec::Spec spec_of(const Tunable& tunable, const std::string& backend = {});

/// Restricts the spec to the configurations that the Tunable's predicates allow for this problem on this device:
/// spec.configs then has the rows. Does nothing without predicates. Throws Error(nothing_valid);
/// Error(invalid_argument) for a name that is not a parameter and for a space that is too large to enumerate; and the
/// exceptions of predicates.
void apply_predicates(const Tunable& tunable, spec::Spec& spec, const Bindings& problem, const Bindings& device_facts,
                      const std::function<void()>& poll = {});

struct detail::TunableState {
  /// Keys and values in TOML syntax.
  using Entries = std::vector<std::pair<std::string, std::string>>;
  struct Section {
    std::string name;
    Entries entries;
  };
  struct Predicate {
    std::vector<std::string> names, optional;
    std::function<bool(const Bindings&)> holds;
  };
  struct Metric {
    std::string name;
    std::function<double(const Bindings&)> code;
    std::string label;
  };

  std::string name;
  std::filesystem::path base_dir;
  std::string text;  ///< the whole spec; empty: built from the members below
  std::string text_name;
  std::vector<std::pair<std::string, std::string>> defines;  ///< for a spec from text
  std::optional<SpecFile> file;

  std::vector<Section> sections;  ///< in the order of their first use
  std::vector<Entries> cases, args, steps;
  std::vector<std::string> constraints;
  std::vector<std::pair<std::string, std::vector<std::string>>> lists;  ///< "kernel.options", quoted items

  std::vector<std::pair<std::string, Data>> data;  ///< argument, contents
  std::vector<Predicate> predicates;
  std::vector<Metric> metrics;  ///< in code; they replace the spec's expressions of these names
  std::function<Expected(const Arguments&)> reference;
  std::function<bool(const Arguments&)> check;
  std::string check_label;
  std::function<double(const Bindings&, const Bindings&)> function;  ///< instead of a kernel
  std::function<void(const Bindings&, const Bindings&)> prepare;     ///< of the function; may be empty
  std::string function_version, function_device;
  /// Directories of sources given as text.
  std::vector<std::shared_ptr<const system::TemporaryDirectory>> sources;

  Section& section(const std::string& wanted);
  void set(const std::string& wanted, const std::string& key, const std::string& value);  ///< the last value counts
  void unset(const std::string& wanted, const std::string& key);
  std::vector<std::string>& list(const std::string& key);
  std::filesystem::path keep_source(const std::string& source_text, const std::string& stem);
};

std::string toml_array(const std::vector<Formula>& items);
/// { a = "1", b = "2" }
std::string toml_table(const detail::TunableState::Entries& entries);
std::string toml_of(const detail::TunableState& state);

}  // namespace xtune
