// A word is compared with the texts of the parameter's values, so that each value keeps its type.
#include "api/function_words.hpp"

#include <algorithm>

#include "core/device/program_call.hpp"
#include "xtune/error.hpp"

namespace xtune {
namespace {

/// As a command has it.
std::string word_of(const Value& value) {
  const bool* const flag = std::get_if<bool>(&value);
  return flag ? std::to_string(*flag) : to_text(value);
}

}  // namespace

Bindings config_of_words(const std::vector<std::string>& words, const std::vector<space::Parameter>& parameters) {
  Bindings config;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const space::Parameter& parameter = parameters[i];
    const std::string word = device::from_call_text(words.at(i + 1), {});
    const auto value = std::find_if(parameter.values.begin(), parameter.values.end(),
                                    [&](const Value& each) { return word == parameter.name + "=" + word_of(each); });
    if (value == parameter.values.end())
      throw Error(ErrorKind::invalid_spec, word + " is not a value of the parameter " + parameter.name);
    config.emplace(parameter.name, *value);
  }
  return config;
}

}  // namespace xtune
