// Records as JSON: nothing is lost, and errors are named.
#include "core/store/record.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "base/json_fields.hpp"
#include "base/random.hpp"
#include "system/files.hpp"
#include "unit/record/example_record.hpp"
#include "xtune/error.hpp"

using namespace xtune::base;
using namespace xtune::system;
using namespace xtune::device;
using namespace xtune::store;

using namespace xtune;
using Json = nlohmann::json;

namespace {

std::string refusal(const Json& json) {
  try {
    record_from_json(json);
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::io);
    return error.what();
  }
  return "accepted";
}

/// A record with another list, of which `watts` is one line.
struct FakeRecord {
  std::string kernel;
  double watts = 0;
  std::vector<std::string> notes;
};
constexpr auto fake_form = fields::object<FakeRecord>(fields::required("kernel", &FakeRecord::kernel, fields::text),
                                                      fields::required("watts", &FakeRecord::watts, fields::number),
                                                      fields::optional("notes", &FakeRecord::notes, fields::text));

/// The names in the first column of a page's table with this title.
std::set<std::string> rows_of(const std::string& page, const std::string& title) {
  std::istringstream lines(read_file(std::string(XTUNE_DOCS "/") + page));
  std::set<std::string> names;
  bool inside = false;
  for (std::string line; std::getline(lines, line);) {
    inside = line.starts_with(title) || (inside && line.starts_with("|"));
    if (!inside || !line.starts_with("| `")) continue;
    std::istringstream cell(line.substr(0, line.find(" |")));
    for (std::string name; std::getline(cell, name, '`') && std::getline(cell, name, '`');) names.insert(name);
  }
  return names;
}

}  // namespace

TEST_CASE("a field that is added to a record's list is written, read, listed, and named where it is wrong") {
  const auto refusal_of = [](const char* text) -> std::string {
    FakeRecord read;
    try {
      fake_form.read_named(Json::parse(text), read, "record field");
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::io);
      return error.what();
    }
    return "accepted";
  };
  CHECK(fake_form.names() == std::vector<std::string>{"kernel", "watts", "notes"});
  const Json json = fake_form.to_json({"gemm", 212.5, {}});
  CHECK(json == Json::parse(R"({"kernel": "gemm", "watts": 212.5})"));
  CHECK(fake_form.from_json(json).watts == 212.5);
  CHECK(refusal_of(R"({"kernel": "gemm", "watts": 1, "unknown": 2})") == "accepted");
  CHECK(refusal_of(R"({"kernel": "gemm", "wats": 1})") == "record field 'watts': it is missing");
  CHECK(refusal_of(R"({"kernel": "gemm", "watts": [1]})").starts_with("record field 'watts': "));
  CHECK(refusal_of(R"({"kernel": "gemm", "watts": "many"})").starts_with("record field 'watts': "));
}

TEST_CASE("docs/record-format.md has the fields of a record, and no others") {
  const std::vector<std::string> fields = record_fields();
  CHECK(rows_of("record-format.md", "| member |") == std::set<std::string>(fields.begin(), fields.end()));
}

TEST_CASE("a record holds texts with control characters themselves") {
  Record record = full_record();
  const std::string controls = "a\x01\t\n\x7f\xC2\x9B";
  record.problem["MODE"] = controls;
  record.config["KIND"] = controls;
  record.key_parts.emplace_back("runtime", controls);
  const std::string text = to_json(record).dump();
  CHECK(text.find('\n') == std::string::npos);
  const Record read = record_from_json(Json::parse(text));
  CHECK(read.problem == record.problem);
  CHECK(read.config == record.config);
  CHECK(read.key_parts == record.key_parts);
}

TEST_CASE("a part of a key that is not UTF-8 is stored as printable text") {
  Record record = full_record();
  record.key_parts.emplace_back("options", "-I/\xff");
  CHECK(record_from_json(Json::parse(to_json(record).dump())).key_parts.back().second == "-I/\\xff");
}

TEST_CASE("a record comes back from its text as it was") {
  const Record record = full_record();
  const std::string text = to_json(record).dump();
  CHECK(text.find('\n') == std::string::npos);
  const Record read = record_from_json(Json::parse(text));
  CHECK(read.kernel == record.kernel);
  CHECK(read.key == record.key);
  CHECK(read.key_parts == record.key_parts);
  CHECK(read.problem == record.problem);
  CHECK(read.config == record.config);
  CHECK(read.config.at("C").index() == 2);
  CHECK(read.outcome == Outcome::wrong_result);
  CHECK(read.stage == record.stage);
  CHECK(read.message == record.message);
  CHECK(read.samples_ms == record.samples_ms);
  CHECK(read.time_ms.median == record.time_ms.median);
  CHECK(read.time_ms.high == record.time_ms.high);
  CHECK(read.time_ms.count == 9);
  REQUIRE(read.validation);
  CHECK(read.validation->text() == record.validation->text());
  CHECK(std::isnan(read.validation->actual));
  CHECK(read.validation->expected == -INFINITY);
  CHECK(read.validation->count == std::uint64_t{1} << 40);
  CHECK(read.validation->unwritten == 1);
  CHECK(read.usage.registers == 128);
  CHECK(read.usage.spilled_bytes == 0);
  CHECK_FALSE(read.usage.static_shared_bytes);
  CHECK(read.artifact_key == record.artifact_key);
  CHECK(to_json(read.device) == to_json(record.device));
  CHECK(read.device.memory_bytes == record.device.memory_bytes);
  CHECK(read.device.max_block_z == 64);
  CHECK(read.toolchain == record.toolchain);
  CHECK(read.host == record.host);
  CHECK(read.attempt == record.attempt);
  CHECK(read.tainted == record.tainted);
  CHECK(read.unix_time_ms == record.unix_time_ms);
  CHECK(read.compile_s == record.compile_s);
  CHECK(read.compile_cpu_s == record.compile_cpu_s);
  CHECK(read.bench_s == record.bench_s);
  CHECK(read.limit_s == record.limit_s);
  CHECK(read.telemetry.clock_mhz == 1980);
  CHECK(read.telemetry.temperature_c == 41.5);
  CHECK(read.telemetry.power_w == 350);
  CHECK(read.telemetry.energy_j == 0.125);
  CHECK(read.telemetry.overhead_ms == 0.0025);
  CHECK(read.telemetry.launches == 48);
  CHECK(to_json(read).dump() == text);
}

TEST_CASE("reasons of taint are a list") {
  Record record = example_record(1, 1);
  record.tainted = {"throttled", "another process ran on the GPU"};
  Json json = to_json(record);
  CHECK(json["tainted"] == Json{"throttled", "another process ran on the GPU"});
  CHECK(record_from_json(json).tainted == record.tainted);
  json["tainted"] = 1;
  CHECK(refusal(json).find("record field 'tainted'") == 0);
}

TEST_CASE("samples are kept rounded, their summary in full") {
  Record record = example_record(1, 1);
  record.samples_ms = {0.012345678901, 1e9 + 0.25, 0.000000412345678};
  record.time_ms.median = 0.012345678901;
  const Record read = record_from_json(Json::parse(to_json(record).dump()));
  CHECK(read.samples_ms == std::vector<double>{0.012346, 1e9 + 0.25, 0.00000041235});
  CHECK(read.time_ms.median == 0.012345678901);
}

TEST_CASE("every member of a device survives") {
  DeviceInfo device;
  Json all = to_json(device);
  CHECK(all.empty());
  // Each member gets a different value, and must be read back with it.
  DeviceInfo other = example_device();
  other.warp_size = 64;
  other.max_grid_x = 1;
  other.max_grid_y = 2;
  other.max_grid_z = 3;
  other.max_block_x = 4;
  other.max_block_y = 5;
  other.max_block_z = 6;
  other.max_threads_per_block = 7;
  other.max_threads_per_compute_unit = 8;
  other.shared_per_compute_unit = 9;
  other.registers_per_compute_unit = 10;
  other.clock_khz = 11;
  other.memory_clock_khz = 12;
  other.memory_bus_bits = 13;
  CHECK(to_json(other).size() == 27);
  CHECK(to_json(device_info_from_json(to_json(other))) == to_json(other));
}

TEST_CASE("text that is not UTF-8 does not stop a record") {
  Record record = example_record(1, 1);
  record.message = "\xff\xfe\x01 nvcc said";
  record.config["S"] = std::string("\x80");
  CHECK(record_from_json(Json::parse(to_json(record).dump())).message.find("nvcc said") != std::string::npos);
}

TEST_CASE("errors in a record are named") {
  const Json good = to_json(full_record());
  CHECK(refusal(good) == "accepted");
  for (const char* name : {"schema", "kernel", "key", "problem", "config", "outcome", "device", "unix_time_ms"}) {
    Json json = good;
    json.erase(name);
    CHECK(refusal(json).find(std::string("'") + name + "': it is missing") != std::string::npos);
  }
  for (const auto& [name, value] : good.items()) {
    Json json = good;
    json[name] = Json::array({Json::object()});
    CHECK(refusal(json).find("'" + name + "'") != std::string::npos);
  }
  Json json = good;
  json["outcome"] = "splendid";
  CHECK(refusal(json).find("unknown outcome 'splendid'") != std::string::npos);
  json = good;
  json["schema"] = 2;
  CHECK(refusal(json).find("version 2 is newer than this xtune reads (1)") != std::string::npos);
  json = good;
  json["config"]["X"] = std::uint64_t{1} << 63;
  CHECK(refusal(json).find("does not fit 64 bits") != std::string::npos);
  CHECK(refusal(Json(3)) != "accepted");
  CHECK(refusal(Json::array()) != "accepted");
  CHECK(refusal(Json()) != "accepted");
}

TEST_CASE("members that this version does not know are ignored") {
  Json json = to_json(full_record());
  json["colour"] = "green";
  json["device"]["colour"] = 3;
  CHECK(refusal(json) == "accepted");
}

TEST_CASE("random changes to a record's text never do worse than an error") {
  const std::string good = to_json(full_record()).dump();
  Random random(9);
  int accepted = 0;
  for (int i = 0; i < 3000; ++i) {
    std::string text = good;
    for (std::uint64_t n = 1 + random.below(3); n > 0; --n)
      text[random.below(text.size())] = static_cast<char>(random.below(256));
    const Json json = Json::parse(text, nullptr, false);
    if (json.is_discarded()) continue;
    try {
      record_from_json(json);
      ++accepted;
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::io);
    }
  }
  CHECK(accepted > 0);
}

TEST_CASE("Samples keep nanoseconds, and of what is shorter five digits") {
  const auto kept = [](double time_ms) { return nlohmann::json(kept_time_ms(time_ms)).dump(); };
  CHECK(kept(12.34567891) == "12.345679");
  CHECK(kept(0.0123456789) == "0.012346");
  CHECK(kept(0.00255512345) == "0.0025551");
  CHECK(kept(1.4212345e-6) == "1.4212e-06");
  CHECK(kept(3.0512345e-7) == "3.0512e-07");
  CHECK(kept(1e-320) == nlohmann::json(1e-320).dump());
  CHECK(kept(0) == "0.0");
  CHECK(std::isinf(kept_time_ms(HUGE_VAL)));
  CHECK(std::isnan(kept_time_ms(NAN)));
}

TEST_CASE("a record states whether launches repeat, and counts outliers") {
  Record record = full_record();
  record.outcome = Outcome::ok;
  record.samples_ms = {1, 1.01, 1.02, 1.03, 1.04, 9};
  record.time_ms = measure::summarize(record.samples_ms);
  record.repeatable = validate::Repeatability{3, validate::BitDifference{"y", {1, 2}, "1", "2", 5, 64}};
  Json json = to_json(record);
  CHECK(json.at("outliers") == 1);
  CHECK(json.at("repeatable").at("same") == false);
  CHECK(json.at("repeatable").at("difference").at("differing") == 5);
  Record read = record_from_json(json);
  CHECK(read.time_ms.outliers == 1);
  CHECK(read.time_ms.inlier_mean == doctest::Approx(1.02));
  REQUIRE(read.repeatable.has_value());
  CHECK(read.repeatable->text() == record.repeatable->text());
  json.erase("outliers");  // as of an earlier version
  CHECK(record_from_json(json).time_ms.outliers == 1);
  json["repeatable"] = {{"launches", 2}, {"same", true}};
  CHECK(record_from_json(json).repeatable->same());
  json["repeatable"] = 7;
  CHECK(refusal(json).find("repeatable") != std::string::npos);
}
