// HIP's calls for graphs of launches. A stream that is captured accepts launches and fills, and refuses everything
// else.
#include <memory>

#include "emulator/hip/runtime_state.hpp"

namespace xtune::emulator {
namespace {

struct EmulatedGraph {
  std::vector<GraphNode> nodes;
};

EmulatedGraph* graph_of(hipGraph_t handle) { return reinterpret_cast<EmulatedGraph*>(handle); }
EmulatedGraph* graph_of(hipGraphExec_t handle) { return reinterpret_cast<EmulatedGraph*>(handle); }

}  // namespace
}  // namespace xtune::emulator

using namespace xtune::emulator;

extern "C" {

hipError_t hipStreamBeginCapture(hipStream_t stream, hipStreamCaptureMode /*mode*/) {
  return answer([&](RuntimeState& state) {
    if (!stream) return hipErrorStreamCaptureUnsupported;  // the null stream
    return state.captures.try_emplace(stream).second ? hipSuccess : hipErrorIllegalState;
  });
}

hipError_t hipStreamEndCapture(hipStream_t stream, hipGraph_t* graph) {
  return answer([&](RuntimeState& state) {
    const auto capture = state.captures.extract(stream);
    if (capture.empty()) return hipErrorStreamCaptureUnmatched;
    *graph = reinterpret_cast<hipGraph_t>(new EmulatedGraph{capture.mapped()});
    return hipSuccess;
  });
}

hipError_t hipGraphInstantiate(hipGraphExec_t* executable, hipGraph_t graph, hipGraphNode_t* /*failed*/, char* /*log*/,
                               std::size_t /*log_bytes*/) {
  return answer([&](RuntimeState&) {
    if (!graph) return hipErrorInvalidValue;
    *executable = reinterpret_cast<hipGraphExec_t>(new EmulatedGraph(*graph_of(graph)));
    return hipSuccess;
  });
}

hipError_t hipGraphLaunch(hipGraphExec_t executable, hipStream_t stream) {
  return answer([&](RuntimeState& state) {
    if (!executable) return hipErrorInvalidValue;
    if (state.captures.contains(stream)) return hipErrorStreamCaptureUnsupported;
    for (const GraphNode& node : graph_of(executable)->nodes)
      if (const hipError_t code = node(state); code != hipSuccess) return code;
    return hipSuccess;
  });
}

hipError_t hipGraphExecDestroy(hipGraphExec_t executable) {
  delete graph_of(executable);
  return answer([](RuntimeState&) { return hipSuccess; });
}

hipError_t hipGraphDestroy(hipGraph_t graph) {
  delete graph_of(graph);
  return answer([](RuntimeState&) { return hipSuccess; });
}

}  // extern "C"
