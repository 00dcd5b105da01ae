// The result of tuning a problem, for later calls.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <stop_token>
#include <string>

#include "core/build/artifact.hpp"
#include "core/record/record.hpp"

namespace xtune::dispatch {

struct Tuned {
  std::optional<record::Record> winner;     ///< unset: no configuration passed
  std::optional<build::Artifact> artifact;  ///< the winner's; unset: it was lost
  std::string not_kept;                     ///< why these are not in the store; empty: they are
  std::set<Bindings> failed;  ///< without a winner: the configurations that were tried, all of which failed
  std::string failures;       ///< numbers of failures by outcome, and the first failure's message
};

/// Tunes a problem on a device, and stores the results. May throw Error; ends soon after it is asked to stop.
using Tuner =
    std::function<Tuned(const Bindings& problem, const device::DeviceInfo& device, const std::stop_token& stop)>;

/// A problem for which a tuning run has proved configurations wrong, and none right.
struct Failure {
  std::set<Bindings> configs;
  std::string message;
};

/// The default configuration was proved wrong.
struct ProvenWrong : Error {
  using Error::Error;
};

}  // namespace xtune::dispatch
