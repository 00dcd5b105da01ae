// A draft of `xtune init`, with the arguments of a call in the place of its guesses, becomes a Tunable.
#include "xtune/source.hpp"

#include <fmt/ranges.h>

#include <algorithm>

#include "api/tunable_state.hpp"
#include "base/named.hpp"
#include "base/text.hpp"
#include "core/init/draft.hpp"
#include "core/spec/document.hpp"
#include "dispatch/array_call.hpp"
#include "dispatch/kernel_state.hpp"
#include "system/files.hpp"
#include "xtune/error.hpp"

namespace xtune {

Passed::Passed(const Array& array) : kind(Kind::array), dtype(array.dtype), bytes(size_of(array.dtype)) {
  if (dispatch::layout_of(array) != dispatch::Layout::dense)
    throw Error(ErrorKind::invalid_argument, "an array is not in C order: pass a contiguous copy");
  for (std::size_t i = 0; i < array.rank; ++i) shape.emplace_back(array.shape[i]);
  if (array.data) data = Data::device(array.data, array.bytes());
}

namespace {

std::vector<std::string> texts_of(const std::vector<Formula>& formulas) {
  std::vector<std::string> texts;
  for (const Formula& each : formulas) texts.push_back(each.text());
  return texts;
}

const char* role_name(Passed::Role role) {
  return role == Passed::Role::in ? "in" : role == Passed::Role::out ? "out" : "inout";
}

init::PassedArgument described(const Passed& passed) {
  using Kind = init::PassedArgument::Kind;
  const Kind kind = passed.kind == Passed::Kind::array    ? Kind::array
                    : passed.kind == Passed::Kind::number ? Kind::scalar
                                                          : Kind::value;
  return {kind, passed.dtype, passed.bytes, texts_of(passed.shape), role_name(passed.role), passed.number.text()};
}

init::DraftRequest request_of(const SourceSettings& settings, std::span<const Passed> arguments) {
  init::DraftRequest request;
  if (!settings.entry.empty()) request.entries = {settings.entry};
  for (const Param& param : settings.params) request.parameters.emplace_back(param.name, spec::toml_list(param.values));
  for (const auto& [name, value] : settings.problem) request.sizes.emplace_back(name, spec::toml_text(value));
  for (const auto& [name, value] : settings.defines) request.defines.emplace_back(name, value.text());
  request.grid = texts_of(settings.grid);
  request.block = texts_of(settings.block);
  request.shared = settings.shared.text();
  request.constraints = settings.constraints;
  request.passed.emplace();
  for (const Passed& each : arguments) request.passed->push_back(described(each));
  return request;
}

void require_complete(const std::string& source, const init::Draft& draft) {
  if (draft.blanks.empty()) return;
  std::vector<std::string> lines;
  for (const init::DraftLine& each : draft.blanks)
    lines.push_back(each.shown() + (each.why.empty() ? "" : "  # " + each.why));
  throw Error(ErrorKind::invalid_argument,
              fmt::format("{}: the source does not show all that a run needs. Give it (params, grid, block, shared, "
                          "problem):\n  {}",
                          source, fmt::join(lines, "\n  ")));
}

/// A value with the draft's comment, if that is a guess.
std::string with_guess(const std::string& value, const std::string& comment) {
  return comment.starts_with("guess") ? value + "  # " + comment : value;
}

class Builder {
 public:
  Builder(const init::Draft& draft, const init::ProjectOptions& project, std::span<const Passed> arguments,
          Tunable& tunable)
      : draft_(draft), model_(draft.model), project_(project), arguments_(arguments), tunable_(tunable) {}

  void run() {
    const init::DraftStep& step = model_.steps.front();
    state().set("kernel", "entry", spec::toml_string(step.entry));
    add_project();
    for (const init::DraftSize& each : model_.sizes)
      state().set("problem", each.name, with_guess(each.value, each.comment));
    for (const init::DraftParameter& each : model_.parameters)
      if (!each.commented_out)
        state().section("space.params").entries.emplace_back(each.name, init::values_in_space(each));
    for (const std::string& each : model_.constraints) tunable_.constraint(each);
    state().set("launch", "grid", with_guess(list(step.grid), step.grid_comment));
    state().set("launch", "block", with_guess(list(step.block), step.block_comment));
    if (step.is_cooperative) tunable_.cooperative();
    if (!step.shared.empty())
      state().set("launch", "shared", with_guess(spec::toml_string(step.shared), step.shared_comment));
    add_arguments(step);
    if (draft_.judge.empty()) return;
    state().set("validate", "reference", "{ config = " + draft_.judge + " }");
    if (draft_.is_judge_launched) state().set("dispatch", "default", draft_.judge);
  }

 private:
  detail::TunableState& state() { return Access::changed(tunable_); }
  static std::string list(const std::vector<std::string>& texts) { return toml_array({texts.begin(), texts.end()}); }

  void add_project() {
    for (const auto& [path, from] : project_.include_dirs) tunable_.include_dir(path);
    for (const auto& [name, value] : project_.defines)
      if (std::find(draft_.parameters.begin(), draft_.parameters.end(), name) == draft_.parameters.end())
        tunable_.define(name, value);
    for (const std::string& each : project_.options) tunable_.option(each);
  }

  void add_arguments(const init::DraftStep& step) {
    for (std::size_t i = 0; i < arguments_.size(); ++i)
      add_argument(*base::find_named(model_.arguments, step.args[i]), arguments_[i]);
    for (const init::DraftArgument& each : model_.arguments)  // variables of the source
      if (each.kind == "constant") tunable_.constant(each.name, dtype_of(each), shape_of(each));
  }

  void add_argument(const init::DraftArgument& drafted, const Passed& passed) {
    if (passed.kind == Passed::Kind::value) {
      tunable_.value(drafted.name, passed.data.host());
    } else if (passed.kind == Passed::Kind::number) {
      state().args.push_back({{"name", spec::toml_string(drafted.name)},
                              {"kind", "\"scalar\""},
                              {"dtype", spec::toml_string(drafted.dtype)},
                              {"value", drafted.value}});
    } else if (passed.role == Passed::Role::out) {
      tunable_.output(drafted.name, dtype_of(drafted), shape_of(drafted));
    } else {
      const DType dtype = dtype_of(drafted);
      const bool is_host = passed.data.kind() == Data::Kind::host;
      const Data data = is_host && passed.data.dtype() != dtype ? Data::bytes(dtype, passed.data.host()) : passed.data;
      if (passed.role == Passed::Role::in)
        tunable_.input(drafted.name, dtype, shape_of(drafted), data);
      else
        tunable_.inout(drafted.name, dtype, shape_of(drafted), data);
    }
  }

  static DType dtype_of(const init::DraftArgument& drafted) { return dtype_from_string(drafted.dtype).value(); }
  static Shape shape_of(const init::DraftArgument& drafted) {
    return std::vector<Formula>(drafted.shape.begin(), drafted.shape.end());
  }

  const init::Draft& draft_;
  const init::DraftModel& model_;
  const init::ProjectOptions& project_;
  const std::span<const Passed> arguments_;
  Tunable& tunable_;
};

}  // namespace

std::vector<std::string> argument_names(const Tunable& tunable) {
  std::vector<std::string> names;
  for (const auto& entries : Access::state(tunable).args)
    names.push_back(to_text(spec::read_toml("name = " + entries.front().second, {0}).find("name")->value));
  return names;
}

Tunable from_source(const std::string& source, const SourceSettings& settings, std::span<const Passed> arguments) {
  const auto tell = [&](const std::string& line) {
    if (settings.tuning.on_log) settings.tuning.on_log(line);
  };
  std::error_code ignored;
  const bool is_text = source.find('{') != std::string::npos && !std::filesystem::exists(source, ignored);
  const std::filesystem::path path = is_text ? "source" : source;
  const std::filesystem::path folder = system::absolute_path("x").parent_path();
  init::DraftRequest request = request_of(settings, arguments);
  request.source = is_text ? source : system::read_file(path);
  request.source_path = base::printable(path.string());
  std::vector<std::string> include_dirs;
  for (const std::filesystem::path& each : settings.include_dirs) include_dirs.push_back(each.string());
  request.project = init::project_options(path, include_dirs, is_text ? "none" : "", folder);
  const init::ProjectOptions project = request.project;
  const init::Draft draft = init::draft_file(path, folder, std::move(request), tell);
  require_complete(base::printable(path.string()), draft);
  for (const init::DraftLine& guess : draft.guesses)
    tell(fmt::format("guessed from {}: {}{}", path.string(), guess.shown(),
                     guess.why.starts_with("guess: ") ? "  # " + guess.why.substr(7) : ""));
  Tunable tunable(settings.name.empty() ? draft.kernel : settings.name);
  if (is_text)
    tunable.source(source);
  else
    tunable.source_file(path);
  for (const auto& [name, value] : settings.defines) tunable.define(name, value);
  Builder(draft, project, arguments, tunable).run();
  return tunable;
}

}  // namespace xtune
