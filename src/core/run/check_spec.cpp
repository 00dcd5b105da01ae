// Checking what a spec names in search and validation.
#include "core/run/check_spec.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/text.hpp"
#include "core/search/strategy.hpp"
#include "core/validate/builtin.hpp"
#include "xtune/error.hpp"

namespace xtune {
namespace {

using Names = std::vector<std::string>;

bool contains(const Names& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

[[noreturn]] void refuse(const Location& at, const std::string& message) {
  throw Error(ErrorKind::invalid_spec, at.line ? to_string(at) + ": " + message : message);
}

[[noreturn]] void refuse_word(const Location& at, const std::string& what, const std::string& word,
                              const Names& valid) {
  refuse(at, fmt::format("{} '{}'{}; one of {}", what, printable(word, 80), did_you_mean(word, valid),
                         fmt::join(valid, ", ")));
}

void check_builtin(const Spec& spec) {
  const ReferenceSpec& reference = spec.validate.reference;
  const BuiltinSignature* const signature = builtin_signature(reference.name);
  if (!signature) refuse_word(reference.at, "unknown builtin reference", reference.name, builtin_names());
  Names roles = signature->required;
  roles.insert(roles.end(), signature->optional.begin(), signature->optional.end());
  Names words = roles;
  words.insert(words.end(), signature->scalars.begin(), signature->scalars.end());
  Names buffers, bound;
  for (const ArgSpec& argument : spec.args)
    if (argument.kind == ArgKind::buffer) buffers.push_back(argument.name);
  for (const auto& [role, text] : reference.bindings) {
    if (!contains(words, role))
      refuse_word(text.at, "the builtin reference " + reference.name + " has no", role, words);
    if (contains(roles, role) && !contains(buffers, text.text))
      refuse_word(text.at, fmt::format("{}.{} takes a buffer argument, not", reference.name, role), text.text, buffers);
    bound.push_back(role);
  }
  for (const std::string& role : signature->required)
    if (!contains(bound, role))
      refuse(reference.at,
             fmt::format("the builtin reference {} needs {} = \"...\", the name of a buffer argument ({})",
                         reference.name, role, fmt::join(buffers, ", ")));
}

}  // namespace

void check_spec(const Spec& spec) {
  if (!contains(strategy_names(), spec.search.strategy))
    refuse_word(spec.search.at, "unknown strategy", spec.search.strategy, strategy_names());
  if (spec.validate.reference.kind == ReferenceSpec::Kind::builtin) check_builtin(spec);
}

}  // namespace xtune
