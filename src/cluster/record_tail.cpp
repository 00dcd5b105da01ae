// Continues to read each file where it stopped.
#include "cluster/record_tail.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/files.hpp"
#include "core/record/record_log.hpp"

namespace xtune::cluster {

RecordTail::RecordTail(std::filesystem::path store, std::string arch, std::string kernel)
    : store_(std::move(store)), arch_(std::move(arch)), kernel_(std::move(kernel)) {}

std::vector<record::Record> RecordTail::read(const std::set<std::string>& attempts) {
  std::vector<record::Record> records;
  std::vector<std::string> warnings;  // about the whole directory: the next run reports them
  for (const std::filesystem::path& path : record::record_files(store_, arch_, kernel_, warnings)) {
    // <host>-<pid>-<attempt>, with ".2" if that was taken.
    const std::string stem = path.stem().string();
    std::string attempt = stem.substr(stem.rfind('-') + 1);
    attempt.resize(std::min(attempt.size(), attempt.find('.')));
    if (!attempts.contains(attempt)) continue;
    File& file = files_[path];
    std::error_code error;
    const std::uint64_t size = std::filesystem::file_size(path, error);
    if (error || file.newer || size <= file.read_bytes) continue;
    const std::string text = base::read_file_part(path, file.read_bytes, size - file.read_bytes);
    std::string_view rest = text;
    for (std::size_t end = rest.find('\n'); end != std::string_view::npos && !file.newer; end = rest.find('\n')) {
      record::RecordLine line = record::read_record_line(rest.substr(0, end));
      if (line.kind == record::RecordLine::Kind::record) records.push_back(std::move(*line.record));
      file.newer = line.kind == record::RecordLine::Kind::newer;
      lines_[attempt] +=
          line.kind == record::RecordLine::Kind::record || line.kind == record::RecordLine::Kind::damaged;
      file.read_bytes += end + 1;
      rest.remove_prefix(end + 1);
    }
  }
  return records;
}

}  // namespace xtune::cluster
