// One file with the winners of a store and their artifacts, to ship with a program (format: docs/store.md), and the
// merge of stores and bundles into a store.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/build/artifact.hpp"
#include "core/store/export.hpp"
#include "core/store/record_log.hpp"
#include "core/store/store_view.hpp"
#include "xtune/error.hpp"

namespace xtune::store {

struct BundleReport {
  std::uint64_t records = 0, artifacts = 0, bytes = 0;
  std::vector<std::string> warnings;  ///< artifacts that are missing from the store or damaged
};
/// A kernel's spec with the files that it names, so that a bundle needs no other files.
struct BundledSpec {
  std::string kernel;
  std::string spec;                          ///< the name of the spec among the files
  std::map<std::string, std::string> files;  ///< text by relative path
};

/// Writes the winners and their artifacts, with these specs, into one file, atomically. Throws Error(nothing_valid) if
/// there is no winner, Error(invalid_argument) if two specs are for the same kernel, Error(io) if the file cannot be
/// written.
BundleReport write_bundle(const std::filesystem::path& store, const std::filesystem::path& path,
                          const WinnerFilter& filter, const std::vector<BundledSpec>& specs = {});

/// Reads a bundle in place, which may be read-only: nothing is unpacked, and names in it are not used as paths.
/// Immutable once made; any number of threads may use it at once.
class Bundle {
 public:
  /// Reads the index and checks the records. Throws Error(io) for a file that cannot be read or is damaged,
  /// Error(unsupported) for one of a newer version, with that version.
  explicit Bundle(std::filesystem::path path);

  struct Part {
    std::string arch, kernel;
  };
  /// Kernels and architectures of which it has records.
  const std::vector<Part>& parts() const noexcept { return parts_; }
  /// "gemm (sm_90, gfx90a), reduction (sm_90)": for messages.
  std::string contents() const;
  /// Kernels whose specs it contains, sorted.
  std::vector<std::string> specs() const;
  /// Throws Error(invalid_argument) with the kernels that have a spec if this one has none, Error(io) if a file is not
  /// the one that was packed or its name leads out of a directory.
  BundledSpec spec(const std::string& kernel) const;
  /// SHA-256 of all its contents, as hexadecimal text; the order of its parts and records does not matter. Reads and
  /// checks the whole file. Throws Error(io) if a part is not the one that was packed, if bytes belong to no part, or
  /// if the file has changed since it was opened.
  std::string digest() const;
  /// Empty if the bundle has no such part.
  StoreView view(const std::string& arch, const std::string& kernel, const RowOptions& options = {}) const;
  /// The record lines of one of its parts, with a header line. Throws Error(io), Error(invalid_argument) if the bundle
  /// has no such part.
  std::string records(const Part& part) const;
  /// The same as whole records; empty if the bundle has no such part.
  RecordSet record_set(const std::string& arch, const std::string& kernel) const;
  std::vector<std::string> artifact_keys() const;
  /// As in a store's .json; empty: the bundle has none for this key.
  std::string metadata(const std::string& key) const;
  /// nullopt: the bundle has none for this key. Throws Error(io) if its image is not the one that was packed.
  std::optional<build::Artifact> artifact(const std::string& key) const;

 private:
  struct Place {
    std::uint64_t offset = 0, bytes = 0;  ///< in the file
  };
  struct Packed {
    Place place;
    std::string metadata;
  };
  struct PackedFile {
    Place place;
    std::string sha256;
  };
  struct PackedSpec {
    std::string spec;
    std::map<std::string, PackedFile> files;
  };
  std::filesystem::path path_;
  std::string header_;      ///< its first line
  std::uint64_t data_ = 0;  ///< where the parts begin in the file
  std::vector<Part> parts_;
  std::map<std::string, PackedSpec> specs_;
  std::map<std::pair<std::string, std::string>, Place> records_;
  std::map<std::string, Packed> artifacts_;
};

/// The configuration for a problem; unset: the bundle does not answer it.
using ProblemChoice = std::pair<Bindings, std::optional<Bindings>>;
/// SHA-256, as hexadecimal text, of a bundle's digest and of what a process takes from the bundle.
std::string choices_digest(const std::string& bundle_digest, const std::string& kernel,
                           const std::vector<ProblemChoice>& choices);

// Copies the contents of other stores and bundles into this one.

struct MergeReport {
  std::uint64_t records = 0, artifacts = 0;              ///< that were added
  std::uint64_t known_records = 0, known_artifacts = 0;  ///< that were already in the store
  std::uint64_t refused = 0;          ///< records and artifacts that would have to be written behind a link
  std::uint64_t unread = 0;           ///< record files of `other` that were skipped: links, or unreadable files
  std::vector<std::string> warnings;  ///< what was not added, and why
  std::vector<std::string> notes;     ///< last lines of record files that are not finished; they are not damaged
};

/// Adds the records and artifacts of `other`, a store or a bundle, that `store` does not have; `store` is created if it
/// is missing. Records are compared as lines, and new ones are put into one file for each kernel and architecture,
/// whose name is a hash of them; existing files of `store` are never written to or removed. Damaged lines and files of
/// a newer version are skipped, and so are artifacts whose image does not match their metadata, or none of the images
/// that `other`'s records measured. Of two artifacts with one key the one with the smaller hash is kept. Therefore the
/// result does not depend on the order in which stores are merged, nor on repetitions. Files behind links in `other`
/// are skipped, and nothing is written behind links in `store`, so no files outside of the stores are read or written.
/// Throws the errors of require_store if `other` is not a store, Error(invalid_argument) if it has neither records nor
/// artifacts, the errors of Bundle if it is a file but not a bundle, and Error(io) if `store` cannot be written.
MergeReport merge_store(const std::filesystem::path& store, const std::filesystem::path& other);

}  // namespace xtune::store
