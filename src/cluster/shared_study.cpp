// Combines claims and tails.
#include "cluster/shared_study.hpp"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "base/hash.hpp"
#include "cluster/agreement.hpp"
#include "core/record/record_log.hpp"
#include "core/space/bindings_text.hpp"

namespace xtune::cluster {
namespace {

constexpr std::uint64_t beat_every_ms = 3000;
constexpr std::uint64_t look_every_least_ms = 50, look_every_most_ms = 10'000;

std::filesystem::path claims_folder(const SharedStudy::Place& place, const std::string& study) {
  return study_folder(place.store, study) / record::path_component(place.arch) / record::path_component(place.kernel) /
         base::sha256(space::bindings_text(place.problem)).substr(0, 16);
}

/// The start time of the first process, on which all agree.
std::int64_t agreed_beginning(const std::filesystem::path& folder, std::int64_t now_unix_ms) {
  return std::strtoll(agree_on(folder / "began", std::to_string(now_unix_ms) + "\n").c_str(), nullptr, 10);
}

}  // namespace

std::filesystem::path study_folder(const std::filesystem::path& store, const std::string& study) {
  return store / "studies" / record::path_component(study);
}

SharedStudy::SharedStudy(base::EventLoop& loop, base::Clock& clock, const Place& place, const Rank& rank,
                         std::string attempt)
    : loop_(loop),
      size_(static_cast<std::size_t>(std::max(rank.size, 1))),
      place_(static_cast<std::size_t>(std::max(rank.rank, 0))),
      began_unix_ms_(agreed_beginning(study_folder(place.store, rank.study), clock.unix_time_ms())),
      attempt_(std::move(attempt)),
      claims_(claims_folder(place, rank.study), attempt_, clock),
      tail_(place.store, place.arch, place.kernel),
      problem_(place.problem) {
  beat_later();
}

void SharedStudy::beat_later() {
  heart_ = loop_.call_after(beat_every_ms, [this] {
    claims_.beat();
    beat_later();
  });
}

std::vector<record::Record> SharedStudy::news() {
  claims_.about_to_read();
  std::set<std::string> others = claims_.owners();
  others.erase(attempt_);
  std::vector<record::Record> records = tail_.read(others);
  for (const auto& [owner, lines] : tail_.lines()) claims_.have_read(owner, lines);
  std::erase_if(records, [this](const record::Record& record) { return record.problem != problem_; });
  return records;
}

std::uint64_t look_interval_ms(std::size_t processes) noexcept {
  return std::clamp<std::uint64_t>(10 * processes, look_every_least_ms, look_every_most_ms);
}

}  // namespace xtune::cluster
