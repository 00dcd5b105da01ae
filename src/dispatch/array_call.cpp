// Extents are solved one at a time: an expression in which one size is unknown is taken as linear in it, and the
// solution is tried.
#include "dispatch/array_call.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/named.hpp"
#include "base/text.hpp"
#include "core/resolve/resolve.hpp"
#include "core/space/value.hpp"
#include "core/spec/template_text.hpp"

namespace xtune::dispatch {
namespace {

/// The only name that decides on the type: "{TYPE}"; empty: none.
std::string name_of_type(const spec::ArgSpec& argument) {
  if (!argument.dtype_text) return {};
  const std::string& text = argument.dtype_text->text;
  if (text.size() < 3 || text.front() != '{' || text.back() != '}') return {};
  return std::string(base::trimmed(std::string_view(text).substr(1, text.size() - 2), " \t"));
}

/// NumPy has no types for these floats, and hands over their bits.
bool has_bits_of(DType wanted, DType given) {
  if (wanted == DType::bf16) return given == DType::u16;
  return (wanted == DType::f8e4m3 || wanted == DType::f8e5m2) && given == DType::u8;
}

std::string shape_text(const Array& array) {
  return fmt::format("({})", fmt::join(std::span(array.shape.data(), array.rank), ", "));
}

bool is_size(const Bindings& problem, std::string_view text) {
  const auto found = problem.find(std::string(base::trimmed(text, " \t")));
  return found != problem.end() && std::holds_alternative<std::int64_t>(found->second);
}

}  // namespace

Layout layout_of(const Array& array) noexcept {
  const auto dense = [&](auto first, auto last) {
    std::int64_t stride = 1;
    for (auto at = last; at != first;) {
      --at;
      if (array.shape[*at] == 0) return true;
      if (array.shape[*at] != 1 && array.strides[*at] != stride) return false;
      stride *= array.shape[*at];
    }
    return true;
  };
  constexpr std::array<std::size_t, Array::max_rank> order{0, 1, 2, 3, 4, 5, 6, 7};
  constexpr std::array<std::size_t, 2> exchanged{1, 0};
  if (dense(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(array.rank))) return Layout::dense;
  return array.rank == 2 && dense(exchanged.begin(), exchanged.end()) ? Layout::transposed : Layout::other;
}

ArrayPlan::ArrayPlan(const spec::Spec& spec, const ArgumentPlan& plan) : spec_(spec), plan_(plan) {
  for (const std::size_t at : plan.omissible().others) {
    const spec::ArgSpec& argument = plan.passed(at);
    call_numbers_.push_back(arguments_.size());
    if (argument.kind != spec::ArgKind::buffer && argument.kind != spec::ArgKind::scalar)
      throw Error(ErrorKind::unsupported,
                  fmt::format("{}: '{}' is a {} that the caller fills, so sizes do not follow from arrays: pass all {} "
                              "arguments in the kernel's order",
                              spec.kernel.name, argument.name, spec::kind_words.of(argument.kind),
                              plan.omissible().others.size()));
    const bool is_array = argument.kind == spec::ArgKind::buffer;
    // A scalar that is a name of the problem, or has one, follows from the problem.
    const Bindings& problem = spec.cases.front();
    const std::string value(is_array ? "" : base::trimmed(argument.value->text, " \t"));
    if (!is_array && (problem.contains(argument.name) || (problem.contains(value) && !argument.call_value) ||
                      is_size(problem, value))) {
      call_numbers_.back() = plan.omissible().others.size();
      continue;
    }
    CallArgument& own = arguments_.emplace_back();
    own.name = argument.name;
    own.is_array = is_array;
    own.dtype = argument.dtype;
    own.is_output = is_array && argument.role == spec::ArgRole::out;
    own.is_written = is_array && argument.role != spec::ArgRole::in;
    own.is_required = is_array && argument.role != spec::ArgRole::out && !argument.when;
    specs_.push_back(&argument);
  }
}

std::vector<std::string> ArrayPlan::problem_names() const {
  std::vector<std::string> names;
  for (const auto& [name, value] : spec_.cases.front()) names.push_back(name);
  return names;
}

/// The problem of one call as far as it is known.
class ArrayPlan::Solver {
 public:
  Solver(const ArrayPlan& plan, std::span<const Array* const> arrays, const Bindings& facts)
      : plan_(plan), spec_(plan.spec_), own_(plan.spec_.cases.front()), arrays_(arrays), facts_(facts) {
    for (std::size_t i = 0; i < arrays.size(); ++i)
      layouts_.push_back(arrays[i] ? layout_of(*arrays[i]) : Layout::dense);
  }

  SolvedCall solve(const Bindings& words) {
    take_words(words);
    for (std::size_t i = 0; i < arrays_.size(); ++i)
      if (plan_.arguments_[i].is_array) take_properties(i);
    for (const spec::ArgSpec* argument : plan_.specs_)
      if (argument->call_value && argument->role == spec::ArgRole::out && own_.contains(name_of_type(*argument)))
        known_.emplace(name_of_type(*argument), spec::evaluate(*argument->call_value, [&](std::string_view each) {
                         const Value* const known = space::find_value(known_, each);
                         return known ? known : space::find_value(own_, each);
                       }));
    for (const auto& [name, value] : own_)
      if (!std::holds_alternative<std::int64_t>(value)) known_.emplace(name, value);
    solve_sizes();
    for (std::size_t i = 0; i < arrays_.size(); ++i) check(i);
    return result();
  }

 private:
  static constexpr const char* by_the_call = "the call";
  [[noreturn]] void fail(const std::string& why) const {
    throw Error(ErrorKind::invalid_argument, spec_.kernel.name + ": " + why);
  }
  const std::string& name(std::size_t i) const { return plan_.arguments_[i].name; }
  bool is_transposed(std::size_t i) const { return exchanged_.contains(i); }
  std::int64_t extent(std::size_t i, std::size_t dimension) const {
    return arrays_[i]->shape[is_transposed(i) ? 1 - dimension : dimension];
  }

  void take_words(const Bindings& words) {
    std::vector<std::string> names;
    for (const auto& [known, value] : own_) names.push_back(known);
    for (const auto& [word, value] : words) {
      const auto found = own_.find(word);
      if (found == own_.end())
        fail(fmt::format("'{}' is neither an argument of the call nor a name of its problem{}",
                         base::printable(word, 80), base::did_you_mean(word, names)));
      const auto like = size_like(value, found->second);
      if (!like)
        fail(fmt::format("{} is the {} {}, and the spec has the {} {}", word, space::type_name(value),
                         base::printable(to_text(value), 80), space::type_name(found->second), to_text(found->second)));
      known_[word] = *like;
      told_by_[word] = by_the_call;
    }
  }

  /// A name that an array decides on.
  void tell(const std::string& word, const Value& value, std::size_t by, const std::string& how) {
    const auto [at, is_new] = known_.try_emplace(word, value);
    if (is_new)
      told_by_[word] = "'" + name(by) + "'";
    else if (at->second != value)
      fail(fmt::format("'{}' {}, so {} = {}, but {} says {}", name(by), how, word, to_text(value), told_by_[word],
                       to_text(at->second)));
  }

  void require_rank(std::size_t i) const {
    const spec::ArgSpec& argument = *plan_.specs_[i];
    const Array* const array = arrays_[i];
    std::vector<std::string> extents;
    for (const spec::Text& text : argument.shape) extents.push_back(text.text);
    if (array->rank != extents.size())
      fail(fmt::format("'{}' has the shape {}, and the kernel takes {} ({})", name(i), shape_text(*array),
                       base::counted(extents.size(), "dimension"),
                       base::printable(fmt::format("{}", fmt::join(extents, ", ")))));
  }

  void take_properties(std::size_t i) {
    const spec::ArgSpec& argument = *plan_.specs_[i];
    const Array* const array = arrays_[i];
    if (argument.when && own_.contains(argument.when->text) &&
        std::holds_alternative<bool>(own_.at(argument.when->text)))
      if (!known_.contains(argument.when->text)) tell(argument.when->text, array != nullptr, i, "");
    if (!array && plan_.arguments_[i].is_required) fail(fmt::format("argument '{}' is missing", name(i)));
    if (!array) return;
    require_rank(i);
    const std::string type = name_of_type(argument);
    if (!type.empty() && own_.contains(type)) {
      const auto known = known_.contains(type) ? known_.at(type) : own_.at(type);
      const auto wanted = dtype_from_string(to_text(known));
      if (!wanted || !has_bits_of(*wanted, array->dtype))
        tell(type, std::string(to_string(array->dtype)), i, fmt::format("is of {}", to_string(array->dtype)));
    }
    if (layouts_[i] == Layout::dense) {
      // Where the call says so itself, an array in C order holds the elements as the kernel wants them.
      const auto told = told_by_.find(argument.transposed);
      if (!argument.transposed.empty() && (told == told_by_.end() || told->second != by_the_call))
        tell(argument.transposed, false, i, "is in C order");
      return;
    }
    if (layouts_[i] == Layout::transposed && !argument.transposed.empty()) {
      tell(argument.transposed, true, i, "is a transposed view");
      exchanged_.insert(i);
      return;
    }
    fail(fmt::format("'{}' is {}, and the kernel takes it only in C order: pass a contiguous copy", name(i),
                     layouts_[i] == Layout::transposed ? "a transposed view" : "not contiguous"));
  }

  /// An expression with a value for at most one unknown size. unknown: receives the names of all that it asks for.
  std::optional<std::int64_t> evaluate(const spec::Text& text, std::int64_t probe,
                                       std::set<std::string>& unknown) const {
    const Value value = probe;
    const auto lookup = [&](std::string_view name) -> const Value* {
      if (const Value* const known = space::find_value(known_, name)) return known;
      if (const Value* const fact = space::find_value(facts_, name)) return fact;
      if (!own_.contains(std::string(name))) return nullptr;
      unknown.emplace(name);
      return &value;
    };
    try {
      return spec::evaluate_integer(text, lookup);
    } catch (const spec::TextError&) {  // no such value, or a name of the configuration
      return std::nullopt;
    }
  }

  /// The only unknown size of the expression; nullopt: none, several, or not to be found so.
  std::optional<std::pair<std::string, std::int64_t>> solution(const spec::Text& text, std::int64_t extent) const {
    std::set<std::string> unknown;
    const auto one = evaluate(text, 1, unknown), two = evaluate(text, 2, unknown);
    if (!one || !two || *one == *two) return std::nullopt;
    const std::int64_t slope = *two - *one;
    const std::int64_t size = 1 + (extent - *one) / slope;
    if (size < 0 || evaluate(text, size, unknown) != extent) return std::nullopt;
    // Where the expression is not linear (ceildiv(T, 64), N % 64, a choice by size), other sizes may have this extent.
    constexpr std::int64_t most = std::int64_t{1} << 31;
    for (const std::int64_t other : {size + 1, size - 1, std::int64_t{3}, std::int64_t{7}, std::int64_t{64},
                                     std::int64_t{100}, std::int64_t{1000}, 2 * std::min(size, most) + 3})
      if (evaluate(text, other, unknown) != *one + (other - 1) * slope) return std::nullopt;
    if (unknown.size() != 1) return std::nullopt;
    return std::pair{*unknown.begin(), size};
  }

  void solve_sizes() {
    for (bool progress = true; progress;) {
      progress = false;
      for (std::size_t i = 0; i < arrays_.size(); ++i) {
        const std::vector<spec::Text>& shape = plan_.specs_[i]->shape;
        if (!arrays_[i]) continue;
        for (std::size_t d = 0; d < shape.size(); ++d)
          if (const auto found = solution(shape[d], extent(i, d))) {
            tell(found->first, found->second, i, "");
            progress = true;
          }
      }
    }
    require_sizes();
    for (const auto& [name, value] : own_) known_.emplace(name, value);
  }

  /// A size that shapes should tell and do not is never the spec's.
  void require_sizes() const {
    for (std::size_t i = 0; i < arrays_.size(); ++i)
      for (std::size_t d = 0; d < plan_.specs_[i]->shape.size(); ++d) {
        const spec::Text& text = plan_.specs_[i]->shape[d];
        std::set<std::string> unknown;
        evaluate(text, 1, unknown);
        if (unknown.empty()) continue;
        const auto told = [&] { return fmt::format("{}", fmt::join(unknown, " and ")); };
        if (arrays_[i])
          fail(fmt::format("the shapes do not tell {}: '{}' has {} = {}: pass {}=...", told(), name(i),
                           base::printable(text.text), extent(i, d), *unknown.begin()));
        if (plan_.arguments_[i].is_output && !arrays_[i] && is_size(own_, text.text))
          fail(fmt::format("no array has {}, an extent of the output '{}': pass {}=...", told(), name(i),
                           *unknown.begin()));
      }
  }

  /// Of an array, by the complete problem.
  void check(std::size_t i) {
    const spec::ArgSpec& argument = *plan_.specs_[i];
    const CallArgument& own = plan_.arguments_[i];
    const Array* const array = arrays_[i];
    if (!own.is_array) return;
    if (argument.when) {
      const auto lookup = [&](std::string_view each) { return space::find_value(known_, each); };
      const bool needed = space::truth(spec::evaluate(*argument.when, lookup));
      if (needed && !array)
        fail(fmt::format("argument '{}' is missing, which {} needs", own.name, argument.when->text));
      if (!needed && array)
        fail(fmt::format("'{}' is not used here, because {} is false", own.name, argument.when->text));
    }
    if (!array) return;
    const DType wanted = dtype_of(argument, known_);
    if (array->dtype != wanted && !has_bits_of(wanted, array->dtype))
      fail(fmt::format("'{}' is a buffer of {} and was given an array of {}", own.name, to_string(wanted),
                       to_string(array->dtype)));
    if (own.is_written && !array->is_writable)
      fail(fmt::format("'{}' is written by the kernel and was given a read-only array", own.name));
    for (std::size_t d = 0; d < argument.shape.size(); ++d) {
      std::set<std::string> unknown;
      const auto expected = evaluate(argument.shape[d], 0, unknown);
      if (!expected || *expected == extent(i, d)) continue;
      std::string because;
      for (const std::string& each : spec::names_in(argument))
        if (const auto teller = told_by_.find(each);
            teller != told_by_.end() && argument.shape[d].text.find(each) != std::string::npos)
          because += fmt::format("{}{} = {} by {}", because.empty() ? ": " : ", ", each, to_text(known_.at(each)),
                                 teller->second);
      fail(fmt::format("'{}' has {} elements in dimension {}, and {} is {}{}", own.name, extent(i, d), d + 1,
                       base::printable(argument.shape[d].text), *expected, because));
    }
  }

  SolvedCall result() const {
    SolvedCall solved;
    solved.problem = known_;
    for (const spec::ArgSpec* argument : plan_.specs_) solved.types_of_arguments.push_back(dtype_of(*argument, known_));
    for (const spec::ArgSpec& argument : spec_.args)
      if (argument.dtype_text)
        for (const std::string& each : spec::CompiledText::template_text(*argument.dtype_text).names())
          solved.types.insert_or_assign(each, known_.at(each));
    for (std::size_t i = 0; i < arrays_.size(); ++i) {
      if (!plan_.arguments_[i].is_output) continue;
      ArrayOutput output{i, dtype_of(*plan_.specs_[i], known_), {}};
      std::set<std::string> unknown;
      for (const spec::Text& text : plan_.specs_[i]->shape) {
        const auto size = evaluate(text, 0, unknown);
        if (!size && !arrays_[i])
          fail(fmt::format("the output '{}' has {} elements, which depends on the configuration: pass the array",
                           name(i), base::printable(text.text)));
        output.shape.push_back(size.value_or(0));
      }
      solved.outputs.push_back(std::move(output));
    }
    note_empty(solved);
    for (std::size_t i = 0; i < plan_.call_numbers_.size(); ++i) {
      ArgumentSource& source = solved.sources.emplace_back();
      source.call_argument = plan_.call_numbers_[i];
      const spec::ArgSpec& argument = plan_.plan_.passed(plan_.plan_.omissible().others[i]);
      if (argument.kind == spec::ArgKind::scalar)
        source.value = value_of(argument);
      else
        source.is_absent = !plan_.arguments_[source.call_argument].is_output && !arrays_[source.call_argument];
    }
    return solved;
  }

  void note_empty(SolvedCall& solved) const {
    std::size_t written = 0, empty = 0;
    const auto note = [&](std::size_t i, bool is_empty) {
      written += plan_.arguments_[i].is_written ? 1 : 0;
      empty += plan_.arguments_[i].is_written && is_empty ? 1 : 0;
    };
    for (const ArrayOutput& output : solved.outputs)
      if (!arrays_[output.argument]) note(output.argument, std::ranges::find(output.shape, 0) != output.shape.end());
    for (std::size_t i = 0; i < arrays_.size(); ++i) {
      if (!arrays_[i]) continue;
      note(i, arrays_[i]->bytes() == 0);
      if (arrays_[i]->bytes() == 0)
        solved.empty +=
            fmt::format("{}'{}' with the shape {}", solved.empty.empty() ? "" : ", ", name(i), shape_text(*arrays_[i]));
    }
    solved.writes_nothing = written > 0 && empty == written;
  }

  std::vector<std::byte> value_of(const spec::ArgSpec& argument) const {
    const bool is_told = told_by_.contains(argument.name);
    const spec::Text& text = argument.call_value && !is_told ? *argument.call_value : *argument.value;
    const Value value = spec::evaluate(text, spec::lookup_names(known_, facts_));
    auto bytes = spec::encode_scalar(dtype_of(argument, known_), value);
    if (!bytes)
      fail(fmt::format("the scalar '{}' of {} cannot be {}", argument.name, to_string(argument.dtype), to_text(value)));
    return *std::move(bytes);
  }

  const ArrayPlan& plan_;
  const spec::Spec& spec_;
  const Bindings& own_;
  const std::span<const Array* const> arrays_;
  const Bindings& facts_;
  std::vector<Layout> layouts_;
  std::set<std::size_t> exchanged_;  ///< arguments whose dimensions the kernel has in the other order
  Bindings known_;
  std::map<std::string, std::string> told_by_;  ///< for messages
};

SolvedCall ArrayPlan::solve(std::span<const Array* const> arrays, const Bindings& words, const Bindings& facts) const {
  return Solver(*this, arrays, facts).solve(words);
}

}  // namespace xtune::dispatch
