// The requests of xtune to a server ([process] serve), as documented in docs/process.md.
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>

#include "core/device/program_call.hpp"

namespace xtune::device {

/// The version of the protocol, which the first request names and its answer confirms.
inline constexpr int server_protocol = 1;

// Both are without the member "id", which counts a server's requests from 0.

/// The first request.
nlohmann::ordered_json start_request();
/// A request for samples of the call's configuration. check: the results are checked, too. Throws nlohmann's exceptions
/// unless call.request is a JSON object.
nlohmann::ordered_json measure_request(const ProgramCall& call, std::size_t samples, bool check);

}  // namespace xtune::device
