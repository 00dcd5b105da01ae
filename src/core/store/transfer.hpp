// Copies a store's new files to a copy of the store elsewhere, or takes those from there.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/store/bundle.hpp"

namespace xtune::store {

// A copy of a store elsewhere, reached by a program for copying files: rsync or rclone.

enum class Via { automatic, rsync, rclone };

/// Sizes of files, by their path in the store: "records/sm_90/gemm/host-1-a.jsonl".
using FileSizes = std::map<std::string, std::uint64_t>;

/// What is below records, artifacts and sources of a remote store.
struct RemoteListing {
  bool exists = false;  ///< whether there is a directory
  FileSizes files;      ///< the regular files that may belong to a store, by their names
  /// The others, each with the reason: links, pipes and similar, and names that xtune never creates. Hidden files and
  /// damaged ones that `store verify --repair` has moved are not mentioned.
  std::vector<std::string> left_out;
};

/// All members run the program to its end, in the caller's process group, so that it can ask for a password and Ctrl-C
/// reaches it. They throw Error(io) with the end of the program's messages if it fails.
class Remote {
 public:
  virtual ~Remote() = default;
  virtual RemoteListing list() const = 0;
  /// Copies these files of a directory to the same paths there. Files that exist there are not replaced, nothing is
  /// removed there, and a file appears under its name when it is whole, as far as the place allows that.
  void send(const std::filesystem::path& root, const std::vector<std::string>& files) const;
  /// Copies these files from there to the same paths in a directory of this machine; continues after an interruption.
  void fetch(const std::filesystem::path& root, const std::vector<std::string>& files) const;

 protected:
  explicit Remote(std::string place) : place_(std::move(place)) {}
  /// That copies the files whose names are the lines of the file `names`.
  virtual std::vector<std::string> command(const std::string& names) const = 0;
  const std::string place_;

 private:
  void copy(const std::string& from, const std::string& to, const std::vector<std::string>& files,
            const std::vector<std::string>& more) const;
};

/// place: "host:path", a local directory, or "remote:path" of rclone. automatic: rclone if `rclone listremotes` has a
/// remote of that name, else rsync. Throws Error(unavailable) if the program is not installed, Error(invalid_argument)
/// for an empty place or one that looks like an option.
std::unique_ptr<Remote> open_remote(const std::string& place, Via via);

struct TransferReport {
  std::vector<std::string> files;     ///< that were copied, or on a dry run would be: their paths in the store there
  std::uint64_t bytes = 0;            ///< their size
  std::uint64_t record_files = 0;     ///< the number of them that hold records
  MergeReport merge;                  ///< pull: what was added to the store, and what was refused
  std::vector<std::string> warnings;  ///< what was not copied, and why: links, unreadable files, names of others
};

/// Copies what `remote` lacks: artifacts by key, and record files by name. No file there is replaced or removed. A
/// record file only grows at its end, so if it is longer here than there, its new lines become a file of their own,
/// NAME.FROM-TO.jsonl, with the positions of the lines in the whole file. A line that is still being written is not
/// copied. Files behind links are skipped with a warning. Throws the errors of require_store and Remote; Error(io) if
/// a copied file is not there afterwards.
TransferReport push_store(const std::filesystem::path& store, const Remote& remote, bool dry_run);

/// The inverse: fetches the files that `store` lacks into a directory of the store, checks all records and artifacts as
/// merge_store does, and adds those that are sound. Record files keep their names, so that they are not fetched again.
/// The report names files as they are called at the remote.
/// place: the name of the remote, by which an interrupted pull is continued. Throws Error(invalid_argument) if there is
/// no store at the remote, and the errors of Remote and merge_store.
TransferReport pull_store(const std::filesystem::path& store, const std::string& place, const Remote& remote,
                          bool dry_run);

}  // namespace xtune::store
