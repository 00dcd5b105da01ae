// The progress of a run on one line.
#pragma once

#include <cstddef>
#include <string>

#include "core/run/tuner.hpp"

namespace xtune::report {

/// "[12/300] best 52.9 us | 8.9 configs/s, 12 s left | 3 compiling, 2 waiting | BLOCK=256 UNROLL=8", in at most this
/// many columns. What matters less is omitted first: the queues, the rate, then of the best configuration all
/// parameters that are as in the default one, or that find no room ("..."). width 0: for a file, everything.
std::string progress_line(const spec::Spec& spec, const run::Progress& progress, std::size_t width);

}  // namespace xtune::report
