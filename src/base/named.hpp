// Finding an element of a list by its name.
#pragma once

#include <algorithm>
#include <iterator>
#include <string_view>

namespace xtune::base {

/// The first element with this `name`; nullptr if there is none.
template <class List>
auto find_named(List& list, std::string_view name) noexcept -> decltype(std::data(list)) {
  const auto found =
      std::find_if(std::begin(list), std::end(list), [&](const auto& each) { return each.name == name; });
  return found == std::end(list) ? nullptr : &*found;
}

}  // namespace xtune::base
