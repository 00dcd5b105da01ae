// Calls of builtin references on arrays that own their bytes.
#pragma once

#include <doctest/doctest.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "core/validate/builtin.hpp"
#include "support/text.hpp"
#include "xtune/error.hpp"

namespace xtune::test {

struct Array {
  validate::ArgumentLayout layout;
  std::vector<std::byte> data;
  validate::ArrayView view() const { return {&layout, data}; }
  double at(std::uint64_t index) const {
    return spec::decode(layout.dtype, data.data() + index * size_of(layout.dtype));
  }
};

inline Array make(const std::string& name, DType dtype, std::vector<std::uint64_t> shape, Fill fill = Fill::automatic) {
  Array array;
  array.layout.name = name;
  array.layout.dtype = dtype;
  array.layout.shape = std::move(shape);
  array.layout.fill = fill;
  array.data.resize(array.layout.bytes());
  validate::fill_input(array.layout, 5, array.data);
  return array;
}

inline Array run(const std::string& builtin, const std::map<std::string, const Array*>& arrays, DType dtype,
                 std::vector<std::uint64_t> shape, std::map<std::string, Value> scalars = {}) {
  Array out;
  out.layout.name = "out";
  out.layout.dtype = dtype;
  out.layout.shape = std::move(shape);
  validate::BuiltinCall call;
  for (const auto& [role, array] : arrays) call.arrays[role] = array->view();
  call.scalars = std::move(scalars);
  call.output = &out.layout;
  out.data = validate::run_builtin(builtin, call);
  return out;
}

inline std::string refused(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::invalid_argument);
    return error.what();
  }
  return "accepted";
}

}  // namespace xtune::test
