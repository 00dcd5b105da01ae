// Messages survive MessagePack, and the result of a probe survives JSON, for any contents.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "support/message_members.hpp"
#include "xtune/error.hpp"

namespace {

using namespace xtune;
using Json = nlohmann::json;

template <class Message, class Read>
void check_messages(Read read) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    auto message = test::RandomValues(seed).make<Message>();
    test::settle(message);
    const Json json = worker::to_json(message);
    CAPTURE(seed);
    CHECK(test::same(read(json), message));
    CHECK(test::same(read(Json::from_msgpack(Json::to_msgpack(json))), message));
  }
}

}  // namespace

TEST_CASE("Each message with random values comes back from MessagePack as it was") {
  check_messages<run::CompileJob>(worker::compile_job_from_json);
  check_messages<run::CompileAnswer>(worker::compile_answer_from_json);
  check_messages<run::OpenJob>(worker::open_job_from_json);
  check_messages<run::BenchJob>(worker::bench_job_from_json);
  check_messages<run::BenchAnswer>(worker::bench_answer_from_json);
  check_messages<run::RoundsJob>(worker::rounds_job_from_json);
  check_messages<run::RoundsAnswer>(worker::rounds_answer_from_json);
}

TEST_CASE("The files of a compile job come back with it") {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    run::CompileJob job;
    const auto files = test::RandomValues(seed).make<build::KeyedFiles>();
    job.request.files = std::make_shared<const build::KeyedFiles>(files);
    const run::CompileJob read = worker::compile_job_from_json(worker::to_json(job));
    REQUIRE(read.request.files);
    CHECK(test::same(*read.request.files, files));
  }
  CHECK_FALSE(worker::compile_job_from_json(worker::to_json(run::CompileJob())).request.files);
}

TEST_CASE("An outcome that does not exist is refused") {
  run::BenchAnswer answer;
  answer.outcome = static_cast<Outcome>(99);
  CHECK_THROWS_AS(worker::bench_answer_from_json(worker::to_json(answer)), Error);
  run::CompileAnswer compiled;
  compiled.lack = static_cast<build::Lack>(99);
  CHECK_THROWS_AS(worker::compile_answer_from_json(worker::to_json(compiled)), Error);
}

TEST_CASE("What a probe found, with random values and paths of any bytes, comes back from JSON as it was") {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    test::RandomValues random(seed);
    auto state = random.make<run::BackendState>();
    for (build::KeyedFile& file : state.toolchain_parts.files.files)
      if (random.flag()) file.path += "\xff\x01";
    CHECK(test::same(worker::backend_state_from_json(Json::parse(worker::to_json(state).dump())), state));
  }
}
