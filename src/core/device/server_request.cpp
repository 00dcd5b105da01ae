// Requests as JSON, their members in the order of the documentation.
#include "core/device/server_request.hpp"

#include <nlohmann/json.hpp>

namespace xtune::device {

nlohmann::ordered_json start_request() { return {{"do", "start"}, {"protocol", server_protocol}}; }

nlohmann::ordered_json measure_request(const ProgramCall& call, std::size_t samples, bool check) {
  nlohmann::ordered_json request{{"do", "measure"}};
  request.update(nlohmann::ordered_json::parse(call.request));
  request["samples"] = samples;
  request["check"] = check;
  return request;
}

}  // namespace xtune::device
