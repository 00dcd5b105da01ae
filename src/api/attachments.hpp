// Data and callbacks of a Tunable, prepared for one problem.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "api/checked_bench.hpp"
#include "core/spec/spec.hpp"
#include "core/target/target.hpp"
#include "xtune/tunable.hpp"

namespace xtune {

/// The limit for copies from device pointers, and its name for the message.
struct CopyLimit {
  std::uint64_t bytes = ~std::uint64_t{0};
};

/// Writes the data that is attached to arguments as .npy files into the run's scratch directory and names them in the
/// spec; runs the reference in code and stores its outputs there; and returns the data for a check in code (empty
/// without one). Throws Error(invalid_argument) for data of another size or type than its argument, for a pointer that
/// cannot be read, and for a reference that throws or does not match the outputs.
OutputCheck prepare_attachments(const Tunable& tunable, spec::Spec& spec, const Bindings& problem,
                                const target::Target& target, const std::filesystem::path& scratch, CopyLimit limit);

}  // namespace xtune
