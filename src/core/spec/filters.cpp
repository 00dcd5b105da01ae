// --filter and --partition: which part of the space a run is about.
#include "core/spec/reader.hpp"

namespace xtune {

void add_filters(Reader& reader, const SpecOptions& options) {
  for (const std::string& filter : options.filters)
    reader.spec.constraints.push_back({filter, Location{"--filter '" + filter + "'"}});
  reader.spec.partition = options.partition;
}

}  // namespace xtune
