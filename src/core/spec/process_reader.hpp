// Functions that the readers of [process] share.
#pragma once

#include <string>

#include "core/spec/process_spec.hpp"
#include "core/spec/reader.hpp"

namespace xtune::spec {

/// Calls make(); a TextError from it becomes an error of the document at its place.
template <class Make>
auto compiled(const Reader& reader, const Make& make) {
  try {
    return make();
  } catch (const TextError& error) {
    reader.document.fail(error.at, error.message);
  }
}

/// Complains unless the text is a regular expression.
void check_regex(const Reader& reader, const TomlNode& node, const std::string& what);        // read_process_values.cpp
void read_process_time(const Reader& reader, const TomlNode& time, ProcessSpec& spec);        // read_process_values.cpp
void read_process_metrics(const Reader& reader, const TomlNode& metrics, ProcessSpec& spec);  // read_process_values.cpp

}  // namespace xtune::spec
