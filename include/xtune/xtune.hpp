// All of the library's headers.
#pragma once

#include "xtune/across_rule.hpp"
#include "xtune/array.hpp"
#include "xtune/benchmark.hpp"
#include "xtune/data.hpp"
#include "xtune/dtype.hpp"
#include "xtune/error.hpp"
#include "xtune/fill.hpp"
#include "xtune/inventory.hpp"
#include "xtune/kernel.hpp"
#include "xtune/lookup.hpp"
#include "xtune/outcome.hpp"
#include "xtune/remote.hpp"
#include "xtune/result.hpp"
#include "xtune/source.hpp"
#include "xtune/stream.hpp"
#include "xtune/tunable.hpp"
#include "xtune/tune.hpp"
#include "xtune/value.hpp"
#include "xtune/version.hpp"

/// The C++ interface. Programs begin with `tune`, which finds the best configuration, and `load`, which calls it.
namespace xtune {}
