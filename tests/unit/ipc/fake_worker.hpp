// Commands of the fake worker, and what its replies hold.
#pragma once

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "worker/ipc/pool.hpp"

namespace xtune::test {

/// A limit that no test reaches.
constexpr double long_s = 120;

inline worker::WorkerCommand fake_worker(const std::vector<std::string>& arguments = {}) {
  worker::WorkerCommand command;
  command.argv = {XTUNE_FAKE_WORKER};
  command.argv.insert(command.argv.end(), arguments.begin(), arguments.end());
  return command;
}

inline const nlohmann::json& answer_in(const worker::WorkerReply& reply) {
  REQUIRE_MESSAGE(reply.answer,
                  (reply.failure ? reply.failure->text + "\n" + reply.stderr_tail : std::string("no failure either")));
  return *reply.answer;
}

}  // namespace xtune::test
