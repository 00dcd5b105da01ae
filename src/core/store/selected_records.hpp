// Whole records, of those only that are asked for.
#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "core/record/record_log.hpp"
#include "core/store/store_view.hpp"

namespace xtune {

/// read_records, of the records that `wanted` takes: all of them are scanned, and only these are parsed and kept.
/// look: called before wanted, with the view of all; may be empty.
RecordSet read_selected_records(const std::filesystem::path& store, const std::string& arch, const std::string& kernel,
                                const std::function<bool(const StoreView&, const StoredConfig&)>& wanted,
                                const std::function<void(const StoreView&)>& look = {});

}  // namespace xtune
