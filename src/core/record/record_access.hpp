// Access to a whole record for rankings (ranking.hpp).
#pragma once

#include <string>

#include "core/record/ranking.hpp"
#include "core/record/record.hpp"
#include "core/space/bindings_text.hpp"

namespace xtune::record {

struct RecordAccess {
  static RankFacts facts(const Record* record) {
    return {record->key,   record->finals,       record->attempt,       record->outcome, !record->tainted.empty(),
            record->drift, record->unix_time_ms, record->time_ms.median};
  }
  static bool same_config(const Record* a, const Record* b) { return a->config == b->config; }
  static std::string config_text(const Record* record) { return space::bindings_text(record->config); }
};

}  // namespace xtune::record
