// Wrappers of kernels that take a functor or a lambda.
#pragma once

#include <optional>
#include <string>

#include "core/init/host.hpp"

namespace xtune::init {

/// The first argument by value of a template's type that the kernel calls; nullopt: there is none.
std::optional<std::size_t> functor_argument(const KernelFunction& kernel);

struct WrappedKernel {
  KernelFunction kernel;         ///< the wrapper, with the body of what it calls
  std::optional<Launch> launch;  ///< with the wrapper's arguments
  std::string text;              ///< of the wrapper's file
};

/// A kernel that makes the functors as the launch does, and calls the kernel with them. Variables that they are made
/// of become arguments. source: the text with the launch; include: how the wrapper's file includes it.
WrappedKernel wrapped_kernel(const KernelFunction& kernel, const Launch* launch, const HostCode& host,
                             const std::string& source, const std::string& include);

}  // namespace xtune::init
