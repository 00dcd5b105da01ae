// What the answers of compilers show together: that all configurations fail to compile for one reason, so that the
// others need not be compiled; that a parameter has no effect.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/build/artifact.hpp"
#include "core/resolve/resolve.hpp"
#include "core/run/services.hpp"
#include "core/space/space.hpp"

namespace xtune::run {

/// The answers of compilers. An error counts as the source's own if nothing has compiled, and configurations that
/// together have every value of every parameter fail with it, word for word. A requirement (static_assert, #error) does
/// not: it is meant for some configurations only. Nor does an error in a source with an #if on several parameters,
/// which may show only where their values meet.
class CommonFailure {
 public:
  /// index: of the configuration; key: of its artifact.
  void add(std::uint64_t index, const std::string& key, const build::CompileRequest& request, const Ending& answer);
  /// Nothing but this error so far, often enough to ask further configurations.
  bool suspected() const noexcept { return !refuted_ && keys_.size() >= 3; }
  /// Something compiled, or failed otherwise.
  bool refuted() const noexcept { return refuted_; }
  void refute() noexcept { refuted_ = true; }
  /// Those that are still to be asked: the first and the last candidate, and those with a value of a parameter that
  /// neither these nor the failed ones have. Values that compilers do not see do not count.
  std::vector<std::uint64_t> to_ask(const space::Space& space, const std::vector<std::uint64_t>& candidates) const;
  /// The message for the user, when all of them have failed. others: number of configurations that were not compiled.
  std::string text(std::uint64_t others) const;

 private:
  std::set<std::uint64_t> failed_;  ///< by index
  std::set<std::string> keys_;
  std::string error_;
  bool refuted_ = false;
};

/// Compares the images of configurations that compiled, with all else that a measurement depends on, such as the
/// launch.
class EqualImages {
 public:
  void add(std::uint64_t index, const resolve::CandidateResolver& resolver, const space::Space& space,
           const CompileAnswer& answer);
  /// A sentence for the user about each parameter for which all values give the same, wherever all values were compiled
  /// with the same values of the others.
  std::vector<std::string> without_effect(const space::Space& space) const;

 private:
  std::map<std::uint64_t, std::string> seen_;  ///< by index in the space
  std::set<std::string> words_;                ///< in the source
};

}  // namespace xtune::run
