// The examples of README and docs/spec-format.md are specs that xtune takes.
#include <doctest/doctest.h>

#include <cstdlib>
#include <map>
#include <set>
#include <sstream>

#include "core/spec/section.hpp"
#include "specs.hpp"

using namespace xtune::base;
using namespace xtune::system;
using namespace xtune::spec;

using namespace xtune;

namespace {

/// The first block of a page in this language.
std::string block_of(const std::string& file, const std::string& language) {
  const std::string page = read_file(XTUNE_DOCS "/" + file), open = "```" + language + "\n";
  const auto start = page.find(open) + open.size();
  return page.substr(start, page.find("```", start) - start);
}

/// The first word of each code span in the first column of the table after `heading`.
std::set<std::string> keys_of_table(const std::string& file, const std::string& heading) {
  const std::string page = read_file(XTUNE_DOCS "/" + file);
  std::set<std::string> keys;
  std::istringstream lines(page.substr(page.find(heading)));
  bool in_table = false;
  for (std::string line; std::getline(lines, line) && (!in_table || line.starts_with('|'));) {
    in_table = in_table || line.starts_with("|---");
    const std::string cell = line.substr(0, line.find('|', 1));
    for (std::size_t at = in_table ? cell.find('`') : cell.npos; at != cell.npos; at = cell.find('`', at)) {
      const std::size_t close = cell.find('`', at + 1);
      keys.insert(cell.substr(at + 1, std::min(cell.find_first_of(" `", at + 1), close) - at - 1));
      at = close + 1;
    }
  }
  return keys;
}

}  // namespace

TEST_CASE("README's kernel and spec are those of examples/row_sum, and are valid") {
  const std::string spec = block_of("../README.md", "toml"), folder = XTUNE_DOCS "/../examples/row_sum";
  CHECK(block_of("../README.md", "c++") == read_file(folder + "/row_sum.cu"));
  CHECK(spec == read_file(folder + "/row_sum.toml"));
  const Spec parsed = parse_spec(spec, "row_sum.toml", folder, {{}, "host"});
  CHECK(make_space(parsed, parsed.cases.front(), {}).size() == 24);
}

TEST_CASE("the kernel in docs/portable-kernels.md is that of examples/portable, whose spec is valid") {
  const std::string folder = XTUNE_DOCS "/../examples/portable";
  CHECK(block_of("portable-kernels.md", "c++") == read_file(folder + "/row_stats.cu"));
  const Spec parsed = parse_spec(read_file(folder + "/row_stats.toml"), "row_stats.toml", folder, {{}, "host"});
  CHECK(make_space(parsed, parsed.cases.front(), {}).size() == 15);
}

TEST_CASE("the documentation's example is valid") {
  const std::string example = block_of("spec-format.md", "toml");
  const TemporaryDirectory directory;
  write_file_atomically(directory.path() / "scale.cu", "");
  write_file_atomically(directory.path() / "scale_naive.cu", "");
  const Spec spec = parse_spec(example, "scale.toml", directory.path(), {{}, "host"});
  CHECK(spec.notes == std::vector<std::string>{"on the CPU: N = 65536 (scale.toml [on.host])"});
  CHECK(make_space(spec, spec.cases.front(), {{"device.warp_size", std::int64_t{64}}}).size() == 5 * 3 * 2 * 3);
}

namespace {

/// Where the documentation has the table of a section's keys.
struct Table {
  const char* file;
  const char* heading;
  const char* link;
  std::set<std::string> more = {};  ///< keys of the section that stands above
};

const std::map<std::string, Table>& tables() {
  static const std::map<std::string, Table> all{
      {"[kernel]", {"spec-format.md", "\n## [kernel]", "spec-format.md#kernel"}},
      {"[launch]", {"spec-format.md", "\n## [launch]", "spec-format.md#launch"}},
      {"[[steps]]", {"spec-format.md", "\n## [[steps]]", "spec-format.md#steps"}},
      {"[[args]]", {"spec-format.md", "\n## [[args]]", "spec-format.md#args"}},
      {"[[args.fields]]", {"spec-format.md", "\n| Key of a field |", "spec-format.md#structs-and-vectors"}},
      {"kind = \"struct\"", {"spec-format.md", "\n| Key of a struct |", "spec-format.md#structs-and-vectors"}},
      {"kind = \"table\"", {"spec-format.md", "\n### Tables of addresses", "spec-format.md#tables-of-addresses"}},
      {"kind = \"tensor_map\"",
       {"spec-format.md", "\n### Tensor maps", "spec-format.md#tensor-maps", {"shape", "dtype"}}},
      {"[validate]", {"spec-format.md", "\n## [validate]", "spec-format.md#validate"}},
      {"[process]", {"process.md", "\n| key | default | meaning |", "process.md"}},
      {"[measure]", {"spec-format.md", "\n## [measure]", "spec-format.md#measure"}},
      {"[search]", {"spec-format.md", "\n## [search]", "spec-format.md#search"}},
      {"[objective]", {"spec-format.md", "\n## [objective]", "spec-format.md#objective"}},
      {"[candidates]", {"spec-format.md", "\n## [candidates]", "spec-format.md#candidates"}},
      {"[dispatch]", {"spec-format.md", "\n| Key of `[dispatch]`", "spec-format.md#metrics-and-dispatch"}},
  };
  return all;
}

}  // namespace

TEST_CASE("the documentation lists exactly the keys of each section") {
  const SectionKeys sections = keys_of_sections();
  CHECK(sections.size() == tables().size());
  for (const auto& [title, keys] : sections) {
    CAPTURE(title);
    const Table& table = tables().at(title);
    std::set<std::string> expected(keys.begin(), keys.end());
    expected.insert(table.more.begin(), table.more.end());
    CHECK(keys_of_table(table.file, table.heading) == expected);
  }
}

TEST_CASE("docs/spec-keys.md is made of the lists of keys") {
  std::string page =
      "# Keys of a spec\n\n"
      "Made of the lists by which xtune reads a spec. Each section's name leads to what its keys mean.\n\n"
      "| Section | Keys |\n|---|---|\n";
  for (const auto& [title, keys] : keys_of_sections()) {
    page += "| [`" + title + "`](" + tables().at(title).link + ") |";
    for (const std::string& key : keys) page += " `" + key + "`";
    page += " |\n";
  }
  page +=
      "\n`[problem]`, `[[cases]]`, `[derived]`, `[metrics]` and `[space.params]` have names of your own. `[space]` "
      "has\n"
      "`params`, `constraints` and `configs` ([spec-format.md](spec-format.md#space)); `[on.host]` and its like have\n"
      "sections ([spec-format.md](spec-format.md#oncuda-onhip-onhost-onkokkos)).\n";
  if (std::getenv("XTUNE_WRITE_DOCS")) write_file_atomically(XTUNE_DOCS "/spec-keys.md", page);
  INFO("XTUNE_WRITE_DOCS=1 test_spec -tc='docs/spec-keys.md*' writes it");
  CHECK(read_file(XTUNE_DOCS "/spec-keys.md") == page);
}
