// The examples of README and docs/spec-format.md are specs that xtune takes.
#include <doctest/doctest.h>

#include "specs.hpp"

using namespace xtune::base;
using namespace xtune::spec;

using namespace xtune;

namespace {

/// The first block of a page in this language.
std::string block_of(const std::string& file, const std::string& language) {
  const std::string page = read_file(XTUNE_DOCS "/" + file), open = "```" + language + "\n";
  const auto start = page.find(open) + open.size();
  return page.substr(start, page.find("```", start) - start);
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
