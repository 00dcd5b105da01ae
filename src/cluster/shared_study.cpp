// Processes agree on files that appear atomically, by a link; claims and the tails of record files do the rest.
#include "cluster/shared_study.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <utility>

#include "base/hash.hpp"
#include "base/text.hpp"
#include "core/space/value.hpp"
#include "core/store/record_log.hpp"
#include "system/files.hpp"
#include "system/processes.hpp"
#include "system/trust.hpp"
#include "xtune/error.hpp"

namespace xtune::cluster {

namespace fs = std::filesystem;

namespace {

constexpr std::uint64_t beat_every_ms = 3000;
constexpr std::uint64_t look_every_least_ms = 50, look_every_most_ms = 10'000;

fs::path claims_folder(const SharedStudy::Place& place, const std::string& study) {
  return study_folder(place.store, study) / store::path_component(place.arch) / store::path_component(place.kernel) /
         base::sha256(space::bindings_text(place.problem)).substr(0, 16);
}

/// The start time of the first process, on which all agree.
std::int64_t agreed_beginning(const fs::path& folder, std::int64_t now_unix_ms) {
  return std::strtoll(agree_on(folder / "began", std::to_string(now_unix_ms) + "\n").c_str(), nullptr, 10);
}

}  // namespace

std::string agree_on(const fs::path& file, const std::string& text) {
  if (std::string agreed = system::read_if_there(file); !agreed.empty()) return agreed;
  const fs::path own = file.parent_path() / ("." + store::new_attempt());
  system::write_file_atomically(own, text);
  if (::link(own.c_str(), file.c_str()) != 0 && errno != EEXIST && system::read_if_there(file).empty())
    system::write_file_atomically(file, text);
  std::error_code ignored;
  fs::remove(own, ignored);
  return system::read_file(file);
}

std::string join_study(const fs::path& store, const std::string& study, const std::string& place) {
  for (int run = 1;; ++run) {
    const std::string name = run == 1 ? study : fmt::format("{}+{}", study, run);
    const fs::path folder = study_folder(store, name) / "seats" / store::path_component(place);
    const std::error_code error = system::make_directories(folder.parent_path());
    const int file = error ? -1 : ::open(folder.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (file >= 0) {
      ::close(file);
      return name;
    }
    const int reason = error ? error.value() : errno;
    if (reason != EEXIST || error)
      throw Error(ErrorKind::io,
                  fmt::format("cannot make {}: {}", base::printable(folder.string()), std::strerror(reason)));
  }
}

bool is_run_of(const std::string& study, const std::string& name) {
  if (!study.starts_with(name)) return false;
  const std::string rest = study.substr(name.size());
  return rest.empty() ||
         (rest.size() > 1 && rest[0] == '+' && rest.find_first_not_of("0123456789", 1) == std::string::npos);
}

void require_one_device(const fs::path& store, const std::string& study, const std::string& component,
                        const std::string& name, const std::string& arch) {
  const std::string device = base::printable(name) + " (" + base::printable(arch) + ")";
  const std::string found = agree_on(study_folder(store, study) / "components" / store::path_component(component),
                                     device + "\non " + base::printable(system::host_name()) + "\n");
  const std::size_t end = found.find('\n');
  if (found.substr(0, end) == device) return;
  std::string where = end == std::string::npos ? "" : found.substr(end + 1);
  if (!where.empty() && where.back() == '\n') where.pop_back();
  throw Error(
      ErrorKind::unavailable,
      fmt::format("component {} of this job has {} {} and {} on {}: results of two types of GPU cannot be mixed; give "
                  "each type its own (xtune submit --arch-component ... --arch-component ..., or "
                  "--constraint, --gres for one type)",
                  base::printable(component, 40), found.substr(0, end), where, device,
                  base::printable(system::host_name())));
}

RecordTail::RecordTail(fs::path store, std::string arch, std::string kernel)
    : store_(std::move(store)), arch_(std::move(arch)), kernel_(std::move(kernel)) {}

std::vector<store::Record> RecordTail::read(const std::set<std::string>& attempts) {
  std::vector<store::Record> records;
  std::vector<std::string> warnings;  // about the whole directory: the next run reports them
  for (const auto& [path, offset, bytes, name] : store::record_files(store_, arch_, kernel_, warnings)) {
    // <host>-<pid>-<attempt>, with ".2" if that was taken.
    const std::string stem = path.stem().string();
    std::string attempt = stem.substr(stem.rfind('-') + 1);
    attempt.resize(std::min(attempt.size(), attempt.find('.')));
    if (!attempts.contains(attempt)) continue;
    File& file = files_[path];
    std::error_code error;
    const std::uint64_t size = fs::file_size(path, error);
    if (error || file.newer || size <= file.read_bytes) continue;
    const std::string text = system::read_file_part(path, file.read_bytes, size - file.read_bytes);
    std::string_view rest = text;
    for (std::size_t end = rest.find('\n'); end != std::string_view::npos && !file.newer; end = rest.find('\n')) {
      store::RecordLine line = store::read_record_line(rest.substr(0, end));
      if (line.kind == store::RecordLine::Kind::record) records.push_back(std::move(*line.record));
      file.newer = line.kind == store::RecordLine::Kind::newer;
      lines_[attempt] += line.kind == store::RecordLine::Kind::record || line.kind == store::RecordLine::Kind::damaged;
      file.read_bytes += end + 1;
      rest.remove_prefix(end + 1);
    }
  }
  return records;
}

fs::path study_folder(const fs::path& store, const std::string& study) {
  return store / "studies" / store::path_component(study);
}

SharedStudy::SharedStudy(system::EventLoop& loop, system::Clock& clock, const Place& place, const Rank& rank,
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

std::vector<store::Record> SharedStudy::news() {
  claims_.about_to_read();
  std::set<std::string> others = claims_.owners();
  others.erase(attempt_);
  std::vector<store::Record> records = tail_.read(others);
  for (const auto& [owner, lines] : tail_.lines()) claims_.have_read(owner, lines);
  std::erase_if(records, [this](const store::Record& record) { return record.problem != problem_; });
  return records;
}

std::uint64_t look_interval_ms(std::size_t processes) noexcept {
  return std::clamp<std::uint64_t>(10 * processes, look_every_least_ms, look_every_most_ms);
}

}  // namespace xtune::cluster
