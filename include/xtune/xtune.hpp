// All of the library's headers.
#pragma once

#include "xtune/across_rule.hpp"
#include "xtune/benchmark.hpp"
#include "xtune/data.hpp"
#include "xtune/dtype.hpp"
#include "xtune/error.hpp"
#include "xtune/fill.hpp"
#include "xtune/inventory.hpp"
#include "xtune/kernel.hpp"
#include "xtune/lookup.hpp"
#include "xtune/outcome.hpp"
#include "xtune/result.hpp"
#include "xtune/stream.hpp"
#include "xtune/tunable.hpp"
#include "xtune/tune.hpp"
#include "xtune/value.hpp"
#include "xtune/version.hpp"
