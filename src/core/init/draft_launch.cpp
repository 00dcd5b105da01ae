// The launch of a kernel: what host code shows of it comes before what the body's indices do.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <re2/re2.h>

#include <algorithm>
#include <cmath>

#include "base/text.hpp"
#include "core/init/drafting.hpp"
#include "core/spec/reader.hpp"

namespace xtune::init {

namespace {

constexpr std::int64_t warp = 32, max_threads = 1024;

/// What stands there, for a comment.
std::string shown(const Tokens& tokens) { return base::printable(text_of(tokens), 60); }

std::string line_with(const Work& work, const std::vector<Tokens>& extents) {
  Texts texts;
  for (const Tokens& extent : extents) texts.push_back(text_of(extent));
  return fmt::format("line {} has {}", work.launch->line,
                     base::printable(fmt::format("{}", fmt::join(texts, ", ")), 60));
}

std::string from_launch(const Work& work) {
  return fmt::format("guess: from the launch on line {}", work.launch->line);
}

/// The line on which a loop passes another address than in the round before; 0: none.
std::size_t changes_address(const Work& work, const LaunchLoop& loop) {
  for (std::size_t i = 0; i < work.launch->arguments.size(); ++i) {
    if (i >= work.kernel->arguments.size() || work.kernel->arguments[i].pointers == 0) continue;
    if (mentions(work.launch->arguments[i], loop.index)) return work.launch->line;
    for (const Token& each : work.launch->arguments[i])
      if (const auto found = loop.changed.find(each.text); found != loop.changed.end()) return found->second;
  }
  return 0;
}

void add_comment(DraftStep& step, const std::string& text) {
  step.comment += (step.comment.empty() ? "guess: " : "; ") + text;
}

void add_loop(Work& work, DraftStep& step, const LaunchLoop& loop) {
  const auto begin = host_text(work, loop.begin), end = host_text(work, loop.end), by = host_text(work, loop.step);
  std::vector<Tokens> uses = work.launch->arguments;
  uses.insert(uses.end(), work.launch->grid.begin(), work.launch->grid.end());
  uses.push_back(work.launch->shared);
  const bool used = std::ranges::any_of(uses, [&](const Tokens& each) { return mentions(each, loop.index); });
  const std::string place = fmt::format("the loop on line {}", loop.line);
  if (!begin || !end || !by || (!used && is_timing(loop)))
    return add_comment(step, !begin || !end || !by ? fmt::format("one round of {}, whose count cannot be read", place)
                                                   : fmt::format("one round of {}, which does the same {} times", place,
                                                                 shown(loop.end)));
  const std::size_t line = work.in_steps ? changes_address(work, loop) : 0;
  std::size_t uneven = work.host_code.uneven(loop);
  uses.insert(uses.end(), work.launch->block.begin(), work.launch->block.end());
  for (const Tokens& each : uses)
    for (const Token& word : each)
      if (const auto made = work.host_definitions.find(word.text);
          uneven == 0 && made != work.host_definitions.end() && made->second.empty() &&
          std::ranges::none_of(work.launch->around, [&](const LaunchLoop& other) { return word.is(other.index); }))
        if (const auto changed = loop.changed.find(word.text); changed != loop.changed.end()) uneven = changed->second;
  const bool is_outer = std::ranges::any_of(work.launch->around, [&](const LaunchLoop& each) {
    return each.at > loop.at && each.kind == LaunchLoop::Kind::loop && !is_timing(each);
  });
  if (!work.in_steps || line > 0 || uneven > 0 || is_outer) {
    work.host_expressions->set(loop.index, *begin);
    return add_comment(step, fmt::format("the first round of {}{}", place,
                                         line > 0     ? fmt::format("; each has other buffers (line {})", line)
                                         : uneven > 0 ? fmt::format(", whose rounds differ (line {})", uneven)
                                                      : ""));
  }
  work.index = unused_name(work, loop.index, "_", false);
  work.taken.erase(work.index);
  const std::string last = loop.closed ? *end + " + 1" : *end;
  const std::string count =
      *begin == "0" ? last : fmt::format("{} - {}", last, is_like(*begin, " ") ? "(" + *begin + ")" : *begin);
  use_host_names(work, count + "+" + *by, "guess: any number of rounds");
  for (DraftSize& size : work.model.sizes)
    if (mentions(spec_tokens(count), size.name) && (size.value.empty() || size.value.size() > 4)) size.value = "64";
  step.repeat = fmt::format("{{ {} = {} }}", work.index,
                            spec::toml_string(*by == "1" ? count : fmt::format("ceildiv({}, {})", count, *by)));
  const std::string scaled = product({*by, work.index});
  work.host_expressions->set(loop.index, *begin == "0" ? scaled : fmt::format("{} + {}", scaled, *begin));
  add_comment(step, place + " repeats it");
}

/// Whether the kernel itself has "threadIdx.x" or another coordinate of the axis.
bool asks_for(const Work& work, const char* coordinate, std::size_t axis) {
  return mentions(work.use.tokens, fmt::format("{}.{}", coordinate, axis_names[axis]));
}

/// The first argument of __launch_bounds__ of a kernel with one axis; empty: unknown.
Texts launch_bounds(const Work& work, std::size_t axes) {
  if (work.kernel->launch_bounds.empty() || axes != 1) return {};
  const auto whole = work.expressions.text_of(work.kernel->launch_bounds.front());
  return whole && !integer_of(*whole) ? Texts{*whole} : Texts();
}

/// The text that all of these have in the spec.
std::optional<std::string> common_text(const Work& work, const std::vector<Tokens>& expressions) {
  std::optional<std::string> common;
  for (const Tokens& expression : expressions) {
    const auto text = work.expressions.text_of(expression);
    if (!text || (common && *common != *text)) return std::nullopt;
    common = text;
  }
  return common;
}

/// Whether threads write several elements at a constant distance: y[i + k * 64].
bool steps_on(const Work& work) {
  const auto is_distance = [&](const auto& term) {
    return operands(term.second, "[*]").size() > 1 &&
           std::ranges::none_of(work.use.indices->words_behind(term.second), [&](const std::string& word) {
             return is_like(word, "Idx\\.|^gridDim$") || given(work.sizes, word);
           });
  };
  for (const auto& [name, use] : work.use.pointers)
    for (const IndexUse& each : use.indices)
      if (const Operands terms = terms_of(each.index);
          use.written && terms.size() > 1 && std::ranges::any_of(terms, is_distance))
        return true;
  return false;
}

/// The number of elements of the shared arrays that have one for each thread; 0: it is not known.
std::int64_t array_limit(const Work& work, std::size_t i) {
  return integer_of(common_text(work, work.use.axes[i].arrays).value_or("0")).value_or(0);
}

/// Whether the kernel may have fewer threads than its shared arrays have elements: nothing else in it has that number,
/// which would be as many as there are warps if it were small.
bool may_be_smaller(const Work& work, std::size_t i) {
  constexpr std::int64_t max_warps = 32;
  const Tokens& body = work.kernel->body;
  for (const Tokens& extent : work.use.axes[i].arrays)
    for (std::size_t at = 1; at + 1 < body.size(); ++at)
      if (extent.size() > 1 || (body[at].is(extent[0].text) && !(body[at - 1].is("[") && body[at + 1].is("]"))))
        return false;
  return !work.use.shared_passed && array_limit(work, i) > max_warps;
}

/// The threads along an axis: the stride of loops over threads, else what multiplies blockIdx before threadIdx is
/// added, unless that is a tile of several elements for each thread; a parameter that is the extent of a shared array
/// with an element for each; a new one where the kernel asks for blockDim; else "?".
std::string block_extent(Work& work, std::size_t i, std::size_t axes) {
  const AxisUse& axis = work.use.axes[i];
  auto threads = axis.strides.empty() ? std::nullopt : common_text(work, axis.strides);
  if (!threads) threads = common_text(work, axis.threads);
  const auto is_size = [&](const std::string& name) { return given(work.sizes, name) != nullptr; };
  const Texts names = names_in(threads.value_or(""));
  if (threads && std::ranges::none_of(names, is_size) && names.size() <= (axis.strides.empty() ? 1 : 3))
    return axis.strides.empty() && steps_on(work) ? "?" : *threads;
  for (const Tokens& extent : axis.arrays)
    if (const auto text = work.expressions.text_of(extent); text && is_parameter(work, *text)) return *text;
  if (threads || !asks_for(work, "blockDim", i)) return "?";  // a tile, or the distance of rows
  if (!axis.arrays.empty() && !may_be_smaller(work, i)) return "?";
  std::string name = axes > 1 ? fmt::format("THREADS_{}", axis_capitals[i]) : "THREADS";
  if (work.taken.contains(name) && !work.model.steps.empty()) name += fmt::format("_{}", work.model.steps.size() + 1);
  // The user's parameter of this name is the one that is proposed here.
  const bool is_given = given(work.request.parameters, name) && !work.names.words.contains(name);
  if (!is_given) name = unused_name(work, name, "_PER_BLOCK", true);
  add_parameter(work, {name, "\"?\"", false, "", false});
  return name;
}

/// Whether a name of host code remains in it that has a value there, which cannot be read.
bool is_unread(const Work& work, const std::string& text) {
  return std::ranges::any_of(names_in(text), [&](const std::string& each) {
    return work.host_definitions.contains(each) && !is_known(work, each, true);
  });
}

/// Whether the kernel has the name or number, or what host code makes it of: it is written for as many threads. A warp
/// is in many kernels.
bool is_in_kernel(const Work& work, Tokens word) {
  for (int steps = 0; steps < 8 && word.size() == 1; ++steps) {
    const std::string& text = word.front().text;
    if (mentions(work.kernel->body, text) && integer_of(text).value_or(warp + 1) > warp) return true;
    const auto made = work.host_definitions.find(word.front().text);
    word = made == work.host_definitions.end() ? Tokens() : unwrapped(made->second);
  }
  return false;
}

/// The extents of the launch's block. A parameter that stands for what is written there stays.
void take_block(Work& work, DraftStep& step) {
  if (!work.launch) return;
  Texts block;
  std::map<std::string, std::string> words;       // of the axes before, and their parameters
  std::vector<std::optional<std::string>> texts;  // before a name of them becomes a parameter
  for (const Tokens& extent : work.launch->block) texts.push_back(host_text(work, unwrapped(extent)));
  for (std::size_t i = 0; i < std::min<std::size_t>(work.launch->block.size(), 3); ++i) {
    const Tokens extent = unwrapped(work.launch->block[i]);
    const std::string text = texts[i].value_or("");
    const auto number = integer_of(text);
    const std::string word = extent.size() == 1 && extent.front().is_word() ? extent.front().text : "";
    if (has_parameter(work, text)) {
      block.push_back(is_known(work, text, false) ? text : "?");
      continue;
    }
    // What an earlier step has for the same variable, or the kernel's own.
    const std::string proposed = i < step.block.size() ? step.block[i] : "";
    DraftParameter* own = base::find_named(work.model.parameters, proposed);
    const bool is_open = own && own->values == "\"?\"";
    if (is_open && number && is_in_kernel(work, extent)) own = nullptr;
    // A name without a value, or a constant of the file, for a block that the kernel does not limit.
    const bool is_constant = number && work.host_code.constants_at(*work.launch).contains(word) && proposed == "?" &&
                             !work.names.words.contains(word);
    if (!own && work.use.axes[i].arrays.empty() &&
        ((text == word && !word.empty() && !is_unread(work, word)) || is_constant)) {
      add_parameter(work, {word, "\"?\"", false, "", false});
      own = base::find_named(work.model.parameters, word);
    }
    // The source gives the parameter another value than its block has, or an unknown one, or has its number as a
    // template argument, too, or chooses the launch by it: how they depend is not known.
    const bool is_other =
        own && !own->launched.empty() && (number ? own->launched != std::to_string(*number) : is_unread(work, text));
    const bool is_template = is_open && number && std::ranges::any_of(work.launch->templates, [&](const Tokens& each) {
                               return text_of(each) == text && *number > warp;
                             });
    const bool is_choice = std::ranges::any_of(work.launch->around, [&](const LaunchLoop& each) {
      return each.kind == LaunchLoop::Kind::condition && mentions(each.end, word);
    });
    if (is_other || is_template || is_choice) {
      block.emplace_back("?");
    } else if (own && (number || (!word.empty() && !work.host_code.is_dim3(word)))) {
      if (!word.empty()) {
        name_host(work, word, own->name);
        if (const auto [before, is_new] = words.try_emplace(word, own->name); !is_new)
          base::add_once(work.model.constraints, before->second + " == " + own->name);
      }
      if (!work.launch->block_name.empty())
        work.host_expressions->set(work.launch->block_name + "." + axis_names[i], own->name);
      if (number && (is_open || !own->compile_time) && !given(work.request.parameters, own->name)) {
        own->values = values_text(plausible_values(number, false));
        own->launched = std::to_string(*number);
        own->is_only = is_always_launched(work, &Launch::block);
        own->comment = fmt::format("guess: threads of a block; {} on line {}", *number, work.launch->line);
      }
      block.push_back(own->name);
    } else {
      block.push_back(number ? text : "?");
    }
  }
  if (block == Texts{"?"}) block.resize(std::max<std::size_t>(step.block.size(), 1), "?");
  step.block_comment = from_launch(work);
  step.block = std::move(block);
}

/// What a block covers of the axis, up to where blockIdx.x * n begins a row; nullopt: it cannot be read.
std::optional<Texts> tile_of(const Work& work, const AxisUse& axis) {
  Texts factors;
  for (const Tokens& factor : axis.tile) {
    if (std::ranges::any_of(factor, [&](const Token& each) { return given(work.sizes, each.text); })) break;
    const auto text = work.expressions.text_of(factor);
    if (!text) return std::nullopt;
    factors.push_back(*text);
  }
  return factors;
}

/// Blocks along an axis: the size that limits its index by what a block covers of it; else "?".
std::string grid_extent(Work& work, std::size_t i) {
  const AxisUse& axis = work.use.axes[i];
  const auto factors = tile_of(work, axis);
  const bool has_row = factors && factors->size() < axis.tile.size();
  if (!factors || (has_row && !axis.limits.empty() && !axis.is_limited)) return "?";
  if (axis.limits.empty() && factors->empty()) {
    if (work.request.passed) return "?";
    std::string name = std::string("GRID_") + axis_capitals[i];
    if (!given(work.request.sizes, name)) name = unused_name(work, name, "_SIZE", false);
    use_size(work, name, std::string("guess: any number of blocks along ") + axis_names[i]);
    work.use.indices->set(std::string("blockIdx.") + axis_names[i], {name});
    return name;
  }
  if (axis.limits.size() != 1 || (factors->empty() && !axis.is_limited)) return "?";
  const std::string limit = product(axis.limits.front());
  return factors->empty() ? limit : fmt::format("ceildiv({}, {})", limit, product(*factors));
}

/// The parameters keep the launch's value, as what is written beside them needs it; false: one has none.
bool keep_launched(Work& work, const Texts& names, const char* what) {
  for (const std::string& name : names)
    if (DraftParameter* const own = base::find_named(work.model.parameters, name);
        own && !own->commented_out && !given(work.request.parameters, name)) {
      if (own->launched.empty()) return false;
      own->values = "[" + own->launched + "]";
      own->comment = fmt::format("guess: the {} on line {} is written for it", what, work.launch->line);
    }
  return true;
}

/// Whether the kernel calls what may ask for the coordinate: a function or macro that has it, or is not in the file.
bool may_ask_for(const Work& work, const std::string& coordinate) {
  if (work.names.words.contains(coordinate)) return true;
  const Tokens body = simplified(work.kernel->body, true, true);
  for (std::size_t i = 0; i + 1 < body.size(); ++i)
    if (body[i].is_word() && body[i + 1].is("(") &&
        !RE2::FullMatch(body[i].text, "if|for|while|switch|return|sizeof") && !work.host_code.defines(body[i].text))
      return true;
  return false;
}

/// The extents of the launch's grid; false: they cannot be read.
bool take_grid(Work& work, DraftStep& step) {
  if (!work.launch) return false;
  Texts grid;
  for (std::size_t i = 0; i < std::min<std::size_t>(work.launch->grid.size(), 3); ++i) {
    // Of a square block, each axis has its own.
    const DraftParameter* const own =
        base::find_named(work.model.parameters, i < step.block.size() ? step.block[i] : "");
    if (own && i < work.launch->block.size()) work.host_expressions->set(text_of(work.launch->block[i]), own->name);
    const auto text = host_text(work, work.launch->grid[i]);
    if (!text) return false;
    use_sizes_in(work, {*text});
    // What limits the kernel's index holds for every block; what is written, for the block that is written beside it.
    const AxisUse& axis = work.use.axes[i];
    const bool is_proved = axis.limits.size() == 1 && !axis.tile.empty() && !work.names.words.contains("gridDim");
    const std::string proved = is_proved ? grid_extent(work, i) : "?";
    // The number of the launch's block stands for it, and a plain quotient says that sizes are whole blocks.
    std::string for_block = *text, of_whole_blocks = proved;
    if (own && !own->launched.empty()) RE2::GlobalReplace(&for_block, "\\b" + own->launched + "\\b", own->name);
    RE2::Replace(&of_whole_blocks, "^ceildiv\\((.*), ([^,]*)\\)$", "\\1 // \\2");
    const bool is_same = proved != "?" && (for_block == proved || for_block == of_whole_blocks);
    const bool is_read = proved == "?" ? !is_unread(work, *text) : is_known(work, *text, true);
    // What a block covers, and the grid does not follow.
    Texts tile = names_in(product(tile_of(work, axis).value_or(Texts())));
    std::erase_if(tile, [&](const std::string& name) { return mentions(spec_tokens(*text), name); });
    const bool strides = mentions(work.kernel->body, "gridDim");
    if (!is_same && !(is_read && (strides || keep_launched(work, tile, "grid")))) return false;
    if (proved != "?") use_sizes_in(work, {proved});
    grid.push_back(is_same ? proved : *text);
  }
  for (std::size_t i = 0; i < grid.size(); ++i) {
    const bool is_new = !base::find_named(work.model.sizes, grid[i]);
    use_host_names(work, grid[i], "guess: any value");
    if (DraftSize* const own = base::find_named(work.model.sizes, grid[i]); own && is_new && own->value.empty()) {
      own->value = "1024";
      own->comment = fmt::format("guess: any number of blocks; line {}", work.launch->line);
    }
    if (is_like(grid[i], "^\\w+$") && work.use.axes[i].limits.empty())
      work.use.indices->set(std::string("blockIdx.") + axis_names[i], {grid[i]});
  }
  step.grid = std::move(grid);
  step.grid_comment = from_launch(work);
  return true;
}

}  // namespace

bool is_timing(const LaunchLoop& loop) {
  return std::ranges::any_of(loop.end, [](const Token& each) {
    return is_like(each.text,
                   "(?i)(?:^|_|num|n)(?:rep|reps|repeats?|repetitions?|iters?|iterations?|trials?|runs?|loops?|warm_?"
                   "ups?|bench\\w*|times|timing\\w*)$");
  });
}

void name_host(Work& work, const std::string& variable, const std::string& name) {
  work.host_sizes[variable] = name;
  work.host_expressions->set(variable, name);
}

bool is_in_block(const Work& work, const std::string& word) {
  return work.launch && !word.empty() &&
         std::ranges::any_of(work.launch->block, [&](const Tokens& each) { return mentions(each, word); });
}

std::optional<std::int64_t> launched_value(const Work& work, const std::string& text) {
  std::map<std::string, std::int64_t> values;
  for (const DraftParameter& each : work.model.parameters)
    if (const auto value = integer_of(each.launched)) values[each.name] = *value;
  const auto value = computed(spec_tokens(text), values);
  return value ? std::optional(static_cast<std::int64_t>(*value)) : std::nullopt;
}

bool is_always_launched(const Work& work, std::vector<Tokens> Launch::*part) {
  const auto text = [&](const Launch& launch) {
    std::string all;
    for (const Tokens& each : launch.*part) all += text_of(each) + ",";
    return all;
  };
  return std::ranges::none_of(work.launch->around,
                              [](const LaunchLoop& each) { return each.kind == LaunchLoop::Kind::directive; }) &&
         std::ranges::all_of(work.host_code.launches(), [&](const Launch& each) {
           return each.kernel != work.launch->kernel || text(each) == text(*work.launch);
         });
}

void add_launch(Work& work, DraftStep& step) {
  work.host_definitions.clear();
  work.host_expressions.reset();
  work.index.clear();
  if (!work.launch) return;
  work.host_definitions = work.host_code.definitions_at(*work.launch);
  // Of several definitions only one that has a parameter counts: the device's code has it, too.
  for (const auto& [name, tokens] : work.names.expressions)
    if (Tokens& known = work.host_definitions.try_emplace(name, tokens).first->second;
        known.empty() && has_parameter(work, text_of(tokens)))
      known = tokens;
  work.host_expressions.emplace(work.host_definitions, work.host_code.formulas());
  for (const auto& [name, text] : work.host_sizes) work.host_expressions->set(name, text);
  for (const DraftParameter& parameter : work.model.parameters)
    if (!parameter.commented_out && work.names.words.contains(parameter.name))
      work.host_expressions->set(parameter.name, parameter.name);
  step.is_cooperative = work.launch->is_cooperative;
  for (const LaunchLoop& loop : work.launch->around)
    if (loop.kind == LaunchLoop::Kind::lambda)
      add_comment(step, fmt::format("in a lambda (line {}), which runs where it is called", loop.line));
    else if (loop.kind != LaunchLoop::Kind::loop)
      add_comment(step, fmt::format("only where the condition on line {} says so", loop.line));
    else if (loop.index.empty())
      add_comment(step, fmt::format("one round of the loop on line {}, whose count cannot be read", loop.line));
    else
      add_loop(work, step, loop);
}

void add_other_work(const Work& work, DraftStep& step, const Launch* before, const Launch* after) {
  for (const auto& [line, call] : work.host_code.other_work(before, after))
    step.notes.push_back(fmt::format("guess: {} it, line {} has {}, which no step does", after ? "before" : "behind",
                                     line, shown(call)));
}

std::optional<std::string> host_text(const Work& work, const Tokens& tokens) {
  if (!work.host_expressions) return std::nullopt;
  const Tokens simple = simplified(tokens, false);
  Tokens plain;
  for (std::size_t i = 0; i < simple.size(); ++i) {
    const std::size_t end = simple[i].is("sizeof") && is_at(simple, i + 1, "(") ? closing(simple, i + 1) : i;
    const auto type = end == i ? std::nullopt : work.types.element_type(text_of(part(simple, i + 2, end)));
    if (end != i && !type) return std::nullopt;
    plain.push_back(simple[i]);
    if (type)
      plain.back() = {Token::Kind::number, std::to_string(size_of(type->type) * static_cast<std::size_t>(type->lanes))};
    i = std::min(end, simple.size() - 1);
  }
  auto text = work.host_expressions->text_of(plain);
  if (!text || text->find_first_of(".>") != std::string::npos) return std::nullopt;  // a member of a struct
  const Tokens words = spec_tokens(*text);
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i].text;
    const bool is_name = words[i].is_word() && !is_function(word);
    if (is_name && (!spec::identifier_complaint(word).empty() || work.host_code.is_dim3(word))) return std::nullopt;
    // The difference of two sizes may be nothing, and their quotient, too.
    const bool shrinks = words[i].is("-") || words[i].is("/");
    const std::size_t end = is_at(words, i + 1, "(") ? closing(words, i + 1) : i + 1;
    const Tokens by = shrinks ? part(words, i + 1, end + 1) : Tokens();
    if (std::ranges::any_of(by, [&](const Token& each) {
          return each.is_word() && !each.is(work.index) && !is_parameter(work, each.text);
        }))
      return std::nullopt;
  }
  if (words.size() == 1 ||
      std::ranges::any_of(words, [](const Token& each) { return each.is_word() && !is_function(each.text); }))
    return text;
  const auto number = computed(words);
  const bool is_int = number && std::abs(*number) < 2147483648.0;  // others overflow
  return is_int ? std::optional(fmt::format("{:.0f}", *number)) : std::nullopt;
}

Tokens passed_to(const Work& work, std::size_t argument) {
  const bool fits = work.launch && work.launch->arguments.size() == work.kernel->arguments.size();
  return fits ? simplified(work.launch->arguments[argument], false) : Tokens();
}

bool is_parameter(const Work& work, const std::string& name) {
  const DraftParameter* const own = base::find_named(work.model.parameters, name);
  return own && !own->commented_out;
}

bool has_parameter(const Work& work, const std::string& text) {
  return std::ranges::any_of(names_in(text), [&](const std::string& each) { return is_parameter(work, each); });
}

bool is_known(const Work& work, const std::string& text, bool sizes) {
  return std::ranges::all_of(names_in(text), [&](const std::string& each) {
    return is_parameter(work, each) || (sizes && base::find_named(work.model.sizes, each));
  });
}

bool has_index(const Work& work, const std::string& text) {
  return !work.index.empty() && mentions(spec_tokens(text), work.index);
}

void use_host_names(Work& work, const std::string& text, const std::string& comment) {
  for (const std::string& name : names_in(text))
    if (name != work.index && !is_parameter(work, name)) use_size(work, name, comment);
}

std::optional<Texts> allocated_shape(const Work& work, std::size_t argument, const ElementType& type,
                                     std::string& comment) {
  if (!work.launch) return std::nullopt;
  for (const MemoryUse& use : work.host_code.memory_of(pointer_text(passed_to(work, argument)), *work.launch)) {
    if (use.kind != MemoryUse::Kind::allocated) continue;
    comment = fmt::format("line {} allocates {}", use.line, shown(use.bytes));
    Tokens bytes = unwrapped(simplified(use.bytes, false));
    for (int steps = 0; steps < 4 && bytes.size() == 1; ++steps)
      if (const auto made = work.host_definitions.find(bytes.front().text); made != work.host_definitions.end())
        bytes = unwrapped(simplified(made->second, false));
    Texts extents;
    bool has_size = false;
    const auto is_open = [&](const std::string& name) {  // the launch's block, which may have several values
      const auto made = work.host_definitions.find(name);
      return is_in_block(work, name) && made != work.host_definitions.end() && made->second.empty();
    };
    for (const auto& [mark, factor] : operands(bytes, "[-+*/%]")) {
      if (RE2::FullMatch(mark, "[-+/%]")) return std::nullopt;
      const auto text = host_text(work, factor);
      // sizeof(*x) is that of an element, too.
      if (is_at(factor, 0, "sizeof") && !has_size &&
          (!text || *text == std::to_string(size_of(type.type) * static_cast<std::size_t>(type.lanes))))
        has_size = true;
      else if (text && !has_index(work, *text) && std::ranges::none_of(names_in(*text), is_open))
        extents.push_back(*text);
      else
        return std::nullopt;
    }
    if (!has_size && size_of(type.type) > 1) return std::nullopt;
    return extents.empty() ? Texts{"1"} : extents;
  }
  return std::nullopt;
}

void add_block(Work& work, DraftStep& step) {
  std::size_t axes = 0;
  for (std::size_t i = 0; i < 3; ++i)
    if (asks_for(work, "threadIdx", i) || asks_for(work, "blockDim", i)) axes = i + 1;
  // Functions that the kernel calls ask for the thread.
  const bool is_hidden = axes == 0 && (!work.kernel->launch_bounds.empty() || may_ask_for(work, "threadIdx"));
  if (is_hidden) axes = 1;
  step.block.assign(std::max<std::size_t>(axes, 1), "1");
  const Texts bounds = launch_bounds(work, axes);
  const bool given = !work.request.block.empty();
  if (given) step.block = work.request.block;
  for (std::size_t i = 0; i < axes && !given; ++i)
    if (is_hidden || asks_for(work, "threadIdx", i) || asks_for(work, "blockDim", i))
      step.block[i] = i < bounds.size() ? bounds[i] : block_extent(work, i, axes);
  if (!given) take_block(work, step);
  // What was proposed for a block that is a blank now.
  std::erase_if(work.model.parameters, [&](const DraftParameter& each) {
    return each.values == "\"?\"" && each.comment.empty() && !std::ranges::count(step.block, each.name) &&
           work.taken.erase(each.name) > 0;
  });
  for (const std::string& extent : step.block) {
    DraftParameter* const own = base::find_named(work.model.parameters, extent);
    const auto launched = own ? integer_of(own->launched) : std::nullopt;
    const std::string twice = launched > max_threads / 2 ? fmt::format(", {}]", 2 * *launched) : "?";
    if (own && own->values.ends_with(twice)) own->values.replace(own->values.size() - twice.size(), twice.size(), "]");
    if (!own || own->values != "\"?\"") continue;
    own->values = axes > 1 ? "[8, 16, 32]" : "[64, 128, 256]";
    own->comment = "guess: threads of a block";
  }
  // A loop over more rows than the block has threads: for (j = 0; j < TILE; j += ROWS)
  const Tokens& body = work.use.tokens;
  for (std::size_t i = 0; i + 2 < body.size() && !given && axes > 1 && bounds.empty(); ++i)
    if (body[i].is("+=") && body[i + 1].is_word() && RE2::FullMatch(body[i + 2].text, "[);]"))
      if (const auto text = work.expressions.text_of({body[i + 1]});
          text && std::ranges::find(step.block, *text) == step.block.end())
        step.block.assign(axes, "?");
  const auto threads_there = launched_value(work, product(step.block));
  if (!given && threads_there > max_threads) step.block.assign(step.block.size(), "?");
  if (work.launch && !given && std::ranges::find(step.block, "?") != step.block.end())
    step.block_comment = "fill in: " + line_with(work, work.launch->block);
  for (std::size_t i = 0; i < std::min<std::size_t>(axes, step.block.size()); ++i)
    if (step.block[i] != "?") work.expressions.set(std::string("blockDim.") + axis_names[i], step.block[i]);
  const bool open = std::ranges::find(step.block, "?") != step.block.end();
  if (axes > 0 && !given && step.block_comment.empty())
    step.block_comment = open             ? "fill in: threads along x, y, z"
                         : bounds.empty() ? "guess: from the index"
                                          : "guess: from the launch bounds";
  if (!given && threads_there > max_threads)
    step.block_comment += fmt::format("; {} threads, and a GPU has at most {} in a block", *threads_there, max_threads);
  for (std::size_t i = 0; i < axes && !given; ++i)
    if (const std::int64_t limit = array_limit(work, i); limit > 0 && limit < 1024 && is_parameter(work, step.block[i]))
      base::add_once(work.model.constraints, fmt::format("{} <= {}", step.block[i], limit));
  const std::string threads = product(step.block);
  if (!open && (axes > 1 || threads.find(' ') != std::string::npos) && !computed(spec_tokens(threads)))
    base::add_once(work.model.constraints,
                   (threads.find("//") == std::string::npos ? "" : "1 <= ") + threads + " <= 1024");
}

void add_grid(Work& work, DraftStep& step) {
  std::size_t axes = 1;
  for (std::size_t i = 0; i < 3; ++i)
    if (asks_for(work, "blockIdx", i)) axes = i + 1;
  step.grid = work.request.grid;
  if (!step.grid.empty()) return use_sizes_in(work, step.grid);
  if (take_grid(work, step)) return;
  const bool is_hidden = axes == 1 && !asks_for(work, "blockIdx", 0) && may_ask_for(work, "blockIdx");
  for (std::size_t i = 0; i < axes; ++i)
    step.grid.push_back(work.launch || is_hidden ? "?" : !asks_for(work, "blockIdx", i) ? "1" : grid_extent(work, i));
  use_sizes_in(work, step.grid);
  const bool open = std::ranges::find(step.grid, "?") != step.grid.end();
  step.grid_comment = work.launch ? "fill in: blocks; " + line_with(work, work.launch->grid)
                      : open      ? "fill in: blocks along x, y, z, as in ceildiv(n, TILE)"
                      : asks_for(work, "blockIdx", 0) || axes > 1 ? "guess: from the limits of what blockIdx counts"
                                                                  : "";
}

void add_shared(Work& work, DraftStep& step) {
  if (!work.request.shared.empty()) {
    step.shared = work.request.shared;
    return use_sizes_in(work, {step.shared});
  }
  if (work.launch && !work.launch->shared.empty()) {
    const auto written = host_text(work, work.launch->shared);
    const bool is_read = written && !has_index(work, *written) && !is_unread(work, *written);
    if (is_read && *written == "0") return;
    if (is_read) use_host_names(work, *written, "guess: any value");
    step.shared = is_read ? *written : "?";
    step.shared_comment = is_read ? from_launch(work) : "fill in: bytes; " + line_with(work, {work.launch->shared});
    if (!work.use.shared_type.empty() && !work.use.shared_by_block && integer_of(step.shared))
      keep_launched(work, step.block, "shared memory");
    return;
  }
  if (work.use.shared_type.empty()) return;
  const auto type = work.types.element_type(work.use.shared_type);
  const bool open = !type || !work.use.shared_per_thread || step.block.size() != 1 || step.block.front() == "?";
  step.shared =
      open ? "?"
           : product({step.block.front(), std::to_string(size_of(type->type) * static_cast<std::size_t>(type->lanes))});
  step.shared_comment =
      open ? "fill in: bytes of extern __shared__ " + work.use.shared_type : "guess: an element for each thread";
}

}  // namespace xtune::init
