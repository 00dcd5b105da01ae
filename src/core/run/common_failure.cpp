// Compares errors as texts: one that names a value of its configuration differs from the next.
#include "core/run/common_failure.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "base/text.hpp"
#include "core/build/compile_hint.hpp"
#include "core/build/keys.hpp"
#include "core/build/tokens.hpp"

namespace xtune::run {

namespace {

/// Whether an #if of the source, or of a header that is compiled in another form, is about several definitions.
bool joins_parameters(const build::CompileRequest& request) {
  const auto joins = [&](const std::string& text) {
    return std::ranges::any_of(build::tokenize(text).directives, [&](const build::Directive& each) {
      if (each.name != "if" && each.name != "elif") return false;
      std::set<std::string> named;
      for (const build::Token& token : build::tokens_of(each.text))
        if (std::ranges::find(request.defines, token.text, [](const auto& define) { return define.first; }) !=
            request.defines.end())
          named.insert(token.text);
      return named.size() > 1;
    });
  };
  return joins(request.source) ||
         std::ranges::any_of(request.headers, [&](const auto& each) { return joins(each.second); });
}

/// With those in directives, such as #pragma unroll UNROLL.
std::set<std::string> words_in(std::string_view source) {
  std::set<std::string> words;
  build::read_tokens(
      source, [&](const build::Token& token) { words.insert(token.text); },
      [&](const build::Directive& directive) {
        for (const build::Token& token : build::tokens_of(directive.text)) words.insert(token.text);
      });
  return words;
}

}  // namespace

void CommonFailure::add(std::uint64_t index, const std::string& key, const build::CompileRequest& request,
                        const Ending& answer) {
  // A missing header is the source's, too, wherever it may come from one day.
  const bool of_source = answer.outcome == Outcome::compile_failed &&
                         (answer.lack == build::Lack::none || answer.lack == build::Lack::unclear) &&
                         answer.message.find("error") != std::string::npos &&
                         !build::states_a_requirement(answer.message) && !build::states_a_requirement(answer.log);
  refuted_ = refuted_ || !of_source || (keys_.empty() ? joins_parameters(request) : answer.message != error_);
  if (refuted_) return;
  error_ = answer.message;
  failed_.insert(index);
  keys_.insert(key);
}

std::vector<std::uint64_t> CommonFailure::to_ask(const space::Space& space,
                                                 const std::vector<std::uint64_t>& candidates) const {
  std::set<std::pair<std::size_t, std::uint32_t>> shown;
  const auto shows_more = [&](std::uint64_t index) {
    const std::vector<std::uint32_t> values = space.value_indices(index);
    const std::size_t before = shown.size();
    for (std::size_t i = 0; i < values.size(); ++i)
      if (space.parameters()[i].compile_time) shown.emplace(i, values[i]);
    return shown.size() > before;
  };
  for (const std::uint64_t index : failed_) shows_more(index);
  std::set<std::uint64_t> chosen;
  // What grows with the parameters, such as a size that is limited, passes at one of the ends.
  if (!candidates.empty()) chosen = {candidates.front(), candidates.back()};
  for (const std::uint64_t index : chosen) shows_more(index);
  for (const std::uint64_t index : candidates)
    if (shows_more(index)) chosen.insert(index);
  for (const std::uint64_t index : failed_) chosen.erase(index);
  return {chosen.begin(), chosen.end()};
}

std::string CommonFailure::text(std::uint64_t others) const {
  return fmt::format(
      "{} configurations, with every value of every parameter, fail with this error, so the other {} were not compiled "
      "(--keep-going compiles them): {}",
      failed_.size(), others, error_);
}

void EqualImages::add(std::uint64_t index, const resolve::CandidateResolver& resolver, const space::Space& space,
                      const CompileAnswer& answer) {
  if (words_.empty()) words_ = words_in(resolver.compile_request(space.at(index)).source);
  if (answer.outcome == Outcome::ok && !answer.image_sha256.empty())
    seen_[index] = build::key_of(resolver.measurement_key_parts(space.at(index), answer.image_sha256));
}

std::vector<std::string> EqualImages::without_effect(const space::Space& space) const {
  std::vector<std::string> sentences;
  std::vector<std::vector<std::uint32_t>> values;
  for (const auto& [index, key] : seen_) values.push_back(space.value_indices(index));
  for (std::size_t i = 0; i < space.parameters().size(); ++i) {
    const space::Parameter& parameter = space.parameters()[i];
    std::map<std::vector<std::uint32_t>, std::pair<std::size_t, std::set<std::string>>> settings;  // of the others
    std::size_t number = 0;
    for (const auto& [index, key] : seen_) {
      std::vector<std::uint32_t> others = values[number++];
      others[i] = 0;
      auto& [count, keys] = settings[std::move(others)];
      ++count;
      keys.insert(key);
    }
    const bool differs = std::ranges::any_of(settings, [](const auto& each) { return each.second.second.size() > 1; });
    const auto whole =
        std::ranges::count_if(settings, [&](const auto& each) { return each.second.first == parameter.values.size(); });
    const bool named = words_.contains(parameter.name);
    if (!differs && whole > 0 && parameter.values.size() > 1)
      sentences.push_back(fmt::format(
          "{} has no effect{}: its {} values give the same binary and the same launch (compared at {} of the other "
          "parameters){}",
          parameter.name, named ? " with this compiler" : "", parameter.values.size(),
          base::counted(static_cast<std::size_t>(whole), "setting"),
          named ? ", though the source uses that name" : ". Does the kernel use that name?"));
  }
  return sentences;
}

}  // namespace xtune::run
