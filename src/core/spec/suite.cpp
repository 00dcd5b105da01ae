// Reads suites with the readers of specs, so that both accept the same keys.
#include "core/spec/suite.hpp"

#include "base/files.hpp"
#include "base/text.hpp"
#include "core/spec/reader.hpp"
#include "xtune/error.hpp"

namespace xtune::spec {
namespace {

constexpr std::uint64_t largest_suite = 4 << 20;

void check_entry(Reader& reader, const TomlNode& entry, Suite& suite, const std::shared_ptr<Document>& document) {
  reader.check_keys(reader.table(entry, "[[suite]]"), "[[suite]]", {"spec", "cases", "defines", "search", "measure"});
  const TomlNode* const spec = entry.find("spec");
  if (spec == nullptr) {
    reader.document.throw_complaints();
    reader.fail(entry.at, "[[suite]] has no spec: name the file to tune, spec = \"gemm.toml\"");
  }
  const std::filesystem::path path = reader.existing_file(*spec, "spec");
  suite.entries.push_back({path, document, suite.entries.size()});
  if (const TomlNode* cases = entry.find("cases")) {
    for (const TomlNode& each : reader.array(*cases, "cases").items) reader.table(each, "cases");
    if (cases->items.empty())
      reader.fail(cases->at, "cases is empty: give at least one, or leave it out for those of the spec");
  }
  if (const TomlNode* defines = entry.find("defines"))
    for (const auto& [name, value] : reader.table(*defines, "defines").entries) reader.scalar(value, name);
  read_budget(reader, entry);
}

}  // namespace

std::optional<Suite> parse_suite(const std::string& text, const std::string& name,
                                 const std::filesystem::path& base_dir) {
  std::shared_ptr<Document> document;
  try {
    document = std::make_shared<Document>(text, name);
  } catch (const Error&) {
    return std::nullopt;
  }
  const TomlNode* const list = document->root().find("suite");
  if (list == nullptr) return std::nullopt;
  Suite suite;
  suite.path = name;
  Spec unused;
  Reader reader{*document, unused, std::filesystem::absolute(base_dir)};
  reader.check_keys(document->root(), "the suite", {"suite", "search", "measure"});
  if (reader.array(*list, "suite").items.empty()) reader.fail(list->at, "the suite is empty: it needs a [[suite]]");
  read_budget(reader, document->root());
  for (const TomlNode& entry : list->items) check_entry(reader, entry, suite, document);
  document->throw_complaints();
  return suite;
}

std::optional<Suite> load_suite(const std::filesystem::path& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error) || std::filesystem::file_size(path, error) > largest_suite)
    return std::nullopt;
  return parse_suite(base::read_if_there(path, largest_suite), path.string(),
                     std::filesystem::absolute(path).parent_path());
}

void apply_suite_defines(Reader& reader, const SuiteEntry& entry) {
  const TomlNode* const defines = entry.table().find("defines");
  if (defines == nullptr) return;
  for (const auto& [name, value] : defines->entries) {
    try {
      apply_defines(reader, {{name, to_text(value.value)}});
    } catch (const Error& error) {
      entry.document->fail(value.key_at, error.what());
    }
  }
}

void apply_suite_budget(Reader& reader, const SuiteEntry& entry) {
  Reader of_suite{*entry.document, reader.spec, reader.base_dir};
  read_budget(of_suite, entry.document->root());
  read_budget(of_suite, entry.table());
}

}  // namespace xtune::spec
