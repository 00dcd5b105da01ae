// A record file is only appended to: the view grows with it.
#include <algorithm>
#include <iterator>

#include "core/store/best.hpp"
#include "core/store/store_view.hpp"

namespace xtune::store {

GrowingRecords::GrowingRecords(std::filesystem::path store, std::string arch, std::string kernel,
                               measure::Statistic statistic)
    : store_(std::move(store)), arch_(std::move(arch)), kernel_(std::move(kernel)), statistic_(statistic) {}

void GrowingRecords::refresh() {
  listing_warnings_.clear();
  const std::vector<RecordSource> now = record_files(store_, arch_, kernel_, listing_warnings_);
  const auto is_at = [](const RecordSource& a, const RecordSource& b) { return a.path < b.path; };
  std::vector<RecordSource> further;
  std::set_difference(now.begin(), now.end(), files_.begin(), files_.end(), std::back_inserter(further), is_at);
  const bool none_gone = std::includes(now.begin(), now.end(), files_.begin(), files_.end(), is_at);
  const bool grew = view_ && !files_.empty() && none_gone && view_->grow(further);
  files_ = now;
  if (grew) return;
  StoreView::Options options;
  options.all = true, options.statistic = statistic_;
  view_.reset();
  view_ = StoreView::load(now, options);
}

ConfigOrder GrowingRecords::rows_of(const Bindings& problem, const device::DeviceInfo& device) const {
  if (!view_) return {};
  HeldRows own = view_->read_members(problem, device);
  for (const RowBlock& block : view_->row_set().blocks)
    if (block.sanitized && *block.sizes == problem && same_device(*block.measured_on, device))
      own.add(view_->row_set(), block, true);
  return std::move(own.rows);
}

std::vector<std::string> GrowingRecords::warnings() const {
  std::vector<std::string> all = listing_warnings_;
  if (view_) all.insert(all.end(), view_->warnings().begin(), view_->warnings().end());
  return all;
}

}  // namespace xtune::store
