// The library's parser does not recurse, and reports the level of each value.
#include "base/json_text.hpp"

namespace xtune::base {

nlohmann::json read_json(std::string_view text) {
  using Json = nlohmann::json;
  bool too_deep = false;
  const auto keep = [&](int level, Json::parse_event_t /*event*/, const Json& /*value*/) {
    too_deep = too_deep || level > max_json_levels;
    return !too_deep;
  };
  Json json = Json::parse(text, keep, false);
  return too_deep ? Json(Json::value_t::discarded) : json;
}

}  // namespace xtune::base
