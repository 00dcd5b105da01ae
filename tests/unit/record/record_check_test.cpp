// A record is checked when it is read: by its checksum, or by what follows from its own members.
#include "core/store/record_check.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/hash.hpp"
#include "base/random.hpp"
#include "core/resolve/resolve.hpp"
#include "core/store/record.hpp"
#include "core/store/record_log.hpp"
#include "system/files.hpp"
#include "unit/record/example_record.hpp"

using namespace xtune::base;
using namespace xtune::system;
using namespace xtune::build;
using namespace xtune::measure;
using namespace xtune::store;
using namespace xtune::resolve;

using namespace xtune;

namespace {

/// As a run writes it: its key is the hash of its parts, and these match its members.
Record keyed_record() {
  Record record = example_record(64, 0.25, 0.01);
  record.config["RASTER"] = std::int64_t{4};
  record.artifact_key = sha256("artifact");
  record.key_parts = {{"artifact", record.artifact_key},
                      {"runtime", problem_part({{"RASTER", std::int64_t{4}}})},
                      {"problem", problem_part(record.problem)},
                      {"device", device_part(record.device)}};
  record.key = key_of(record.key_parts);
  return record;
}

std::string dumped(const Record& record) { return to_json(record).dump(); }

std::string damage_of(const std::string& line) {
  const RecordLine read = read_record_line(line);
  return read.kind == RecordLine::Kind::damaged ? read.why : std::string();
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  REQUIRE(text.find(from) != std::string::npos);
  return text.replace(text.find(from), from.size(), to);
}

Record timed(std::vector<double> samples_ms) {
  Record record = keyed_record();
  record.samples_ms = std::move(samples_ms);
  record.time_ms = summarize(record.samples_ms);
  return record;
}

}  // namespace

TEST_CASE("crc32c is the checksum of that name") {
  CHECK(crc32c("123456789") == 0xE3069283u);
  CHECK(crc32c("") == 0);
}

TEST_CASE("a checksum is the last member, over all that stands before it") {
  const std::string line = with_checksum(R"({"a":1,"b":[]})");
  CHECK(line == R"({"a":1,"b":[],"checksum":")" + line.substr(line.size() - 10));
  CHECK(nlohmann::json::parse(line).size() == 3);
  CHECK(checksum_of(line) == Checksum::right);
  CHECK(checksum_of(replaced(line, "1", "2")) == Checksum::wrong);
  CHECK(checksum_of(R"({"a":1})") == Checksum::none);
  CHECK(checksum_of("") == Checksum::none);
}

TEST_CASE("no flipped bit of a line with a checksum changes what is read of it") {
  const std::string line = with_checksum(dumped(full_record()));
  const std::string expected = dumped(*read_record_line(line).record);
  std::size_t sound = 0;
  for (std::size_t bit = 0; bit < line.size() * 8; ++bit) {
    std::string flipped = line;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << bit % 8));
    const RecordLine read = read_record_line(flipped);
    if (read.kind == RecordLine::Kind::damaged) continue;
    ++sound;
    CHECK(read.kind == RecordLine::Kind::record);
    CHECK(dumped(*read.record) == expected);
  }
  CHECK(sound <= 8 * std::string("checksum").size());  // under another name it is an unknown member
}

TEST_CASE("an edited line must lose its checksum; a checksum elsewhere than at the end does not count") {
  const std::string line = dumped(keyed_record());
  CHECK(damage_of(line).empty());
  CHECK(damage_of(replaced(with_checksum(line), "node1", "node2")).starts_with("its checksum does not match"));
  CHECK(damage_of(replaced(line, "node1", "node2")).empty());
  const auto reprinted = nlohmann::json::parse(with_checksum(line)).dump();
  CHECK(damage_of(reprinted).starts_with("its checksum does not match"));
}

TEST_CASE("times are possible ones, with a checksum or without") {
  for (const char* time : {"-4.0", "0.0", "0", "-1e308", "1e308", "1e-320"}) {
    nlohmann::json json = to_json(keyed_record());
    json["time_ms"]["median"] = nlohmann::json::parse(time);
    CAPTURE(time);
    CHECK(damage_of(json.dump()).find("is not from 1e-9 ms") != std::string::npos);
    CHECK(damage_of(with_checksum(json.dump())).find("is not from 1e-9 ms") != std::string::npos);
    json["outcome"] = "crashed";  // which answers nothing
    CHECK(damage_of(json.dump()).empty());
  }
}

TEST_CASE("a record has a date that something can be newer than, with a checksum or without") {
  Record record = keyed_record();
  for (const std::int64_t date : {std::numeric_limits<std::int64_t>::max(), std::int64_t{-1}}) {
    record.unix_time_ms = date;
    CHECK(damage_of(dumped(record)).find("unix_time_ms") != std::string::npos);
    CHECK(damage_of(with_checksum(dumped(record))).find("unix_time_ms") != std::string::npos);
  }
  record.unix_time_ms = 253'402'300'799'999;
  CHECK(damage_of(with_checksum(dumped(record))).empty());
}

TEST_CASE("without a checksum, a summary must follow from its samples") {
  for (const char* name : {"min", "q1", "median", "q3", "mean", "max", "low", "high"}) {
    nlohmann::json json = to_json(keyed_record());
    json["time_ms"][name] = json["time_ms"][name].get<double>() + 1e-4;
    CAPTURE(name);
    CHECK(damage_of(json.dump()) == "its time_ms does not follow from its samples_ms");
    CHECK(damage_of(with_checksum(json.dump())).empty());  // its writer's own words
  }
  nlohmann::json json = to_json(keyed_record());
  json["samples_ms"].erase(0);
  CHECK_FALSE(damage_of(json.dump()).empty());
  json = to_json(keyed_record());
  json["samples_ms"][0] = -1.0;
  CHECK_FALSE(damage_of(json.dump()).empty());
  json.erase("time_ms");  // it answers nothing
  CHECK(damage_of(json.dump()).empty());
}

TEST_CASE("the digits that are cut off samples are not damage, at any scale") {
  Random random(5);
  for (const double scale : {3e-5, 1e-3, 8e-3, 1e-2, 0.5, 40.0, 1e5}) {
    for (int i = 0; i < 20; ++i) {
      std::vector<double> samples_ms;
      for (std::uint64_t n = 1 + random.below(60); n > 0; --n)
        samples_ms.push_back(scale * (1 + random.uniform() * (i % 2 ? 3 : 0.001)));
      const Record record = timed(samples_ms);
      CAPTURE(scale);
      CHECK(damage_of(dumped(record)).empty());
      // As earlier versions wrote them.
      nlohmann::json json = to_json(record);
      for (std::size_t at = 0; at < samples_ms.size(); ++at)
        json["samples_ms"][at] = std::round(samples_ms[at] * 1e6) / 1e6;
      CHECK(damage_of(json.dump()).empty());
      CHECK(damage_of(replaced(dumped(record), "\"count\":", "\"count\":1")) ==
            "its time_ms does not follow from its samples_ms");
    }
  }
}

TEST_CASE("without a checksum, a key must be the hash of its parts, and these those of the record's members") {
  const std::string line = dumped(keyed_record()), key = keyed_record().key;
  CHECK(damage_of(replaced(line, key, "0" + key.substr(1))) == "its key is not the hash of its key_parts");
  CHECK(damage_of(replaced(line, key, "g" + key.substr(1))) == "its key is not the hash of its key_parts");
  CHECK(damage_of(replaced(line, R"("runtime")", R"("rumtime")")) == "its key is not the hash of its key_parts");
  CHECK(damage_of(replaced(line, R"("RASTER":4)", R"("RASTER":5)")) ==
        "its configuration is not the one in its key_parts");
  CHECK(damage_of(replaced(line, R"("M":64)", R"("M":65)")) == "its problem is not the one in its key_parts");
  CHECK(damage_of(replaced(line, R"("compute_units":132)", R"("compute_units":133)")) ==
        "its device is not the one in its key_parts");
  CHECK(damage_of(replaced(line, R"("artifact_key":")" + keyed_record().artifact_key.substr(0, 1),
                           R"("artifact_key":"g)")) == "its artifact_key is not the one in its key_parts");
}

TEST_CASE("the header is checked too, so that a flipped version hides no file") {
  const std::string header = with_checksum(R"({"xtune":"0.1.0","xtune_records":1})");
  CHECK(read_record_line(header).kind == RecordLine::Kind::header);
  CHECK(read_record_line(replaced(header, "records\":1", "records\":3")).kind == RecordLine::Kind::damaged);
  CHECK(read_record_line(R"({"xtune_records":3})").kind == RecordLine::Kind::newer);
}
