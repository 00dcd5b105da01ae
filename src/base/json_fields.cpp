// Numbers that JSON lacks.
#include "base/json_fields.hpp"

#include <cmath>

namespace xtune::base {

nlohmann::json number_to_json(double number) {
  if (std::isnan(number)) return "nan";
  if (std::isinf(number)) return number < 0 ? "-inf" : "inf";
  return number;
}

double number_from_json(const nlohmann::json& json) {
  if (json.is_number()) return json;
  const std::string& text = json.get_ref<const std::string&>();
  if (text == "nan") return std::nan("");
  if (text == "inf") return HUGE_VAL;
  if (text == "-inf") return -HUGE_VAL;
  throw Error(ErrorKind::io, "'" + printable(text, 40) + "' where a number is needed");
}

}  // namespace xtune::base
