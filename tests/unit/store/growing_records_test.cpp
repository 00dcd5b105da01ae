#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>

#include "core/store/store_view.hpp"
#include "system/files.hpp"
#include "unit/store/store_files.hpp"

using namespace xtune::system;
using namespace xtune::build;
using namespace xtune::store;

namespace xtune {
namespace {

std::vector<double> times_of(const GrowingRecords& stored) {
  const Record example = example_record(1, 1);
  std::vector<double> times;
  for (const Row row : stored.rows_of(example.problem, example.device)) times.push_back(row->median_ms);
  std::sort(times.begin(), times.end());
  return times;
}

}  // namespace

TEST_CASE("files that are new, have grown, were replaced or have gone are noticed, and others are not read again") {
  const TemporaryDirectory store;
  GrowingRecords stored(store.path(), "sm_90", "gemm");
  stored.refresh();
  CHECK(times_of(stored).empty());
  RecordWriter writer(store.path(), "sm_90", "gemm", "a1");
  writer.append(example_record(1, 1));
  const std::filesystem::path other = write_records(store.path(), {example_record(2, 2)}, "a2");
  stored.refresh();
  CHECK(times_of(stored) == std::vector<double>{1, 2});
  writer.append(example_record(3, 3));
  CHECK(times_of(stored) == std::vector<double>{1, 2});
  stored.refresh();
  CHECK(times_of(stored) == std::vector<double>{1, 2, 3});
  const std::string text = read_file(other);
  std::filesystem::remove(other);
  stored.refresh();
  CHECK(times_of(stored) == std::vector<double>{1, 3});
  write_text(other, text + "{\"torn");
  stored.refresh();
  CHECK(times_of(stored) == std::vector<double>{1, 2, 3});
  CHECK(stored.warnings().size() == 1);
}

TEST_CASE("of a file that has grown only the new lines are read") {
  const TemporaryDirectory store;
  GrowingRecords stored(store.path(), "sm_90", "gemm");
  RecordWriter writer(store.path(), "sm_90", "gemm", "a1");
  for (int i = 1; i <= 20; ++i) writer.append(example_record(i, i));
  stored.refresh();
  CHECK(times_of(stored).size() == 20);
  // A line that was read is damaged meanwhile: it is not read again.
  std::string text = read_file(writer.path());
  write_text(writer.path(), text.replace(text.find('\n', text.size() / 2) + 1, 1, "x"));
  writer.append(example_record(21, 21));
  stored.refresh();
  CHECK(stored.warnings().empty());
  CHECK(times_of(stored).size() == 21);
  CHECK(times_of(stored).back() == 21);
}

TEST_CASE("rows are of one problem and kind of device, those of sanitized kernels too") {
  const TemporaryDirectory store;
  Record sanitized = example_record(1, 1), elsewhere = example_record(2, 2), larger = example_record(3, 3);
  sanitized.key_parts = {{"sanitize", "true"}};
  sanitized.key = key_of(sanitized.key_parts);
  elsewhere.device.name = "another";
  larger.problem["M"] = std::int64_t{128};
  for (Record* record : {&elsewhere, &larger}) record->key_parts.clear();
  write_records(store.path(), {sanitized, elsewhere, larger, example_record(4, 4)});
  GrowingRecords stored(store.path(), "sm_90", "gemm");
  stored.refresh();
  CHECK(times_of(stored) == std::vector<double>{1, 4});
  std::size_t rows = 0;
  stored.each_row([&](Row) { ++rows; });
  CHECK(rows == 4);
}

}  // namespace xtune
