// Graphs by capturing a stream: the driver copies the arguments of every launch into the graph.
#include "backends/gpu/graph.hpp"

#include "backends/gpu/device.hpp"

namespace xtune::gpu {

LaunchGraph::LaunchGraph(Session& session, const std::function<void()>& work) : session_(session) {
  const DriverApi& api = session.api();
  session.check_launch(api.begin_capture(session.stream()), "beginning a graph");
  try {
    work();
  } catch (...) {
    // The stream would stay in capture mode, and refuse everything else.
    if (Graph partial = nullptr; api.end_capture(&partial, session.stream()) == 0) api.destroy_graph(partial);
    throw;
  }
  session.check_launch(api.end_capture(&handle_, session.stream()), "making a graph of the launches");
}

LaunchGraph::~LaunchGraph() {
  try {
    if (handle_) session_.api().destroy_graph(handle_);
  } catch (...) {  // a destructor never throws
  }
}

void LaunchGraph::launch() {
  session_.check_launch(session_.api().launch_graph(handle_, session_.stream()), "launching a graph");
}

}  // namespace xtune::gpu
