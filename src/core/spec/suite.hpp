// A suite: a list of specs to tune, with the cases, parameters and budgets that it changes in them.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <vector>

#include "core/spec/document.hpp"

namespace xtune::spec {

struct Reader;

/// One [[suite]]: a `spec`, and `cases`, `defines`, `search` and `measure`, which replace those of the spec.
struct SuiteEntry {
  std::filesystem::path spec;          ///< relative to the suite's directory, or absolute
  std::shared_ptr<Document> document;  ///< the whole suite
  std::size_t number = 0;              ///< its position there

  const TomlNode& table() const { return document->root().find("suite")->items.at(number); }
};

struct Suite {
  std::filesystem::path path;
  std::vector<SuiteEntry> entries;  ///< in the order of the file, at least one
};

/// nullopt if the file has no `suite`, or is not TOML: it is then read as a spec, which reports the error. Otherwise
/// checks everything that does not need the specs; throws Error(invalid_spec) at its place.
std::optional<Suite> load_suite(const std::filesystem::path& path);
std::optional<Suite> parse_suite(const std::string& text, const std::string& name,
                                 const std::filesystem::path& base_dir);

/// Applies an entry's defines, with places in the suite; see SpecOptions::suite.
void apply_suite_defines(Reader& reader, const SuiteEntry& entry);
void apply_suite_budget(Reader& reader, const SuiteEntry& entry);

}  // namespace xtune::spec
