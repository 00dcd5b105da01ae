// The examples of README and docs/spec-format.md are specs that xtune takes.
#include <doctest/doctest.h>

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

TEST_CASE("the documentation lists exactly the keys of each section") {
  struct Table {
    const char* file;
    const char* heading;
    std::set<std::string> more = {};  ///< keys of the section that stands above
  };
  const std::map<std::string, Table> tables{
      {"[kernel]", {"spec-format.md", "\n## [kernel]"}},
      {"[launch]", {"spec-format.md", "\n## [launch]"}},
      {"[[steps]]", {"spec-format.md", "\n## [[steps]]"}},
      {"[[args]]", {"spec-format.md", "\n## [[args]]"}},
      {"[[args.fields]]", {"spec-format.md", "\n| Key of a field |"}},
      {"kind = \"struct\"", {"spec-format.md", "\n| Key of a struct |"}},
      {"kind = \"table\"", {"spec-format.md", "\n### Tables of addresses"}},
      {"kind = \"tensor_map\"", {"spec-format.md", "\n### Tensor maps", {"shape", "dtype"}}},
      {"[validate]", {"spec-format.md", "\n## [validate]"}},
      {"[process]", {"process.md", "\n| key | default | meaning |"}},
      {"[measure]", {"spec-format.md", "\n## [measure]"}},
      {"[search]", {"spec-format.md", "\n## [search]"}},
      {"[objective]", {"spec-format.md", "\n## [objective]"}},
      {"[candidates]", {"spec-format.md", "\n## [candidates]"}},
      {"[dispatch]", {"spec-format.md", "\n| Key of `[dispatch]`"}},
  };
  const SectionKeys sections = keys_of_sections();
  CHECK(sections.size() == tables.size());
  for (const auto& [title, keys] : sections) {
    CAPTURE(title);
    const Table& table = tables.at(title);
    std::set<std::string> expected(keys.begin(), keys.end());
    expected.insert(table.more.begin(), table.more.end());
    CHECK(keys_of_table(table.file, table.heading) == expected);
  }
}
