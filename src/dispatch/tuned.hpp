// What tuning a problem leaves for the calls that follow.
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
  std::optional<record::Record> winner;     ///< none: nothing passed
  std::optional<build::Artifact> artifact;  ///< the winner's; none: it was lost
  std::string not_kept;                     ///< why the store does not have these; empty: it does
  std::set<Bindings> failed;  ///< without a winner: the configurations that were tried, none of which passed
  std::string failures;       ///< how many failed in which way, and the first failure's message
};

/// Tunes a problem on a device, into the store. May throw Error; ends soon once it is asked to stop.
using Tuner =
    std::function<Tuned(const Bindings& problem, const device::DeviceInfo& device, const std::stop_token& stop)>;

/// A problem of which a tuning run has proven configurations wrong, and none right.
struct Failure {
  std::set<Bindings> configs;
  std::string message;
};

/// The default configuration is one of those.
struct ProvenWrong : Error {
  using Error::Error;
};

}  // namespace xtune::dispatch
