// How many CPUs there are for this process.
#pragma once

namespace xtune::base {

/// The CPUs this process may use.
unsigned usable_cpus();

}  // namespace xtune::base
