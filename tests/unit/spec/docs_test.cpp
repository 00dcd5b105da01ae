// The example of docs/spec-format.md is a spec that xtune takes.
#include <doctest/doctest.h>

#include "specs.hpp"

using namespace xtune::base;
using namespace xtune::spec;

using namespace xtune;

TEST_CASE("the documentation's example is valid") {
  const std::string page = read_file(XTUNE_DOCS "/spec-format.md");
  const std::string open = "```toml\n";
  const auto start = page.find(open) + open.size();
  const std::string example = page.substr(start, page.find("```", start) - start);
  const TemporaryDirectory directory;
  write_file_atomically(directory.path() / "scale.cu", "");
  write_file_atomically(directory.path() / "scale_naive.cu", "");
  const Spec spec = parse_spec(example, "scale.toml", directory.path(), {{}, "host"});
  CHECK(spec.notes == std::vector<std::string>{"on host: N = 65536 (was 16777216)"});
  CHECK(make_space(spec, spec.cases.front(), {{"device.warp_size", std::int64_t{64}}}).size() == 5 * 3 * 2 * 3);
}
