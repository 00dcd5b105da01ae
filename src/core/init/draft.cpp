// Guesses are cautious: a buffer that is too large costs memory, one that is too small is a wrong result.
#include "core/init/draft.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <re2/re2.h>

#include <algorithm>
#include <optional>
#include <set>

#include "base/named.hpp"
#include "base/text.hpp"
#include "core/build/source_closure.hpp"
#include "core/init/body.hpp"
#include "core/init/macros.hpp"
#include "core/spec/document.hpp"
#include "core/spec/reader.hpp"
#include "system/files.hpp"
#include "xtune/error.hpp"

namespace xtune::init {

namespace {

constexpr std::string_view axis_names = "xyz", axis_capitals = "XYZ";

struct DraftParameter {
  std::string name;
  std::vector<Value> values;
  bool compile_time = true;
  std::string comment;
  bool commented_out = false;  ///< it is offered, and has no effect yet
};

struct DraftSize {
  std::string name, value;  ///< value as TOML
  std::string host_value;   ///< empty: the same
  std::string comment;
};

struct DraftArgument {
  std::string name, dtype;
  std::vector<std::string> shape;  ///< of a buffer
  std::string role;
  std::string kind{};  ///< empty: by the other members
  std::string value;   ///< of a scalar; not empty
  std::string comment;
  std::string of{};                ///< of a tensor map: the buffer
  std::vector<std::string> box{};  ///< of a tensor map
};

struct DraftModel {
  std::string kernel, entry;
  std::vector<std::string> kernel_args{};  ///< empty: the kernel takes all arguments
  std::vector<DraftSize> sizes;
  std::vector<DraftParameter> parameters;
  std::vector<std::string> constraints;
  std::vector<std::string> grid, block;
  std::string grid_comment, block_comment;
  std::string shared;  ///< empty: none
  std::vector<DraftArgument> arguments;
  std::vector<std::string> notes;  ///< remarks that belong to no other entry
};

/// A draft in the making.
struct Work {
  const DraftRequest& request;
  const KernelFunction& kernel;
  const SourceNames& names;
  TypeNames types;
  SpecExpressions expressions{names.expressions};
  DraftModel model{};
  BodyUse use{};
  std::set<std::string> taken{}, argument_names{};           ///< the spec's names so far
  std::vector<std::pair<std::string, std::string>> sizes{};  ///< an integer argument, and its name in the spec
  std::map<std::size_t, std::string> grid_sizes{};           ///< axis -> a size that only the launch has
};

bool is_like(const std::string& name, const char* pattern) { return RE2::PartialMatch(name, pattern); }

/// Distances between rows: as large as a size, but no factor of a buffer's extent beside it.
bool is_stride(const std::string& name) { return is_like(name, "(?i)^ld.?$|stride|pitch"); }

bool is_integer(DType type) { return is_like(to_string(type), "^[iu][0-9]"); }

/// Integers that are an extent of an argument, by their names.
bool is_size(const FunctionArgument& argument, const TypeNames& types) {
  const auto type = types.element_type(argument.type);
  return argument.pointers == 0 && type && is_integer(type->type) && type->lanes == 1 && !argument.name.empty() &&
         !is_stride(argument.name) && !is_like(argument.type, "Object_t") &&
         !is_like(argument.name, "(?i)seed|flag|mode|offset|start|begin|raster|shift|mask|iter|step");
}

/// The parameter's type is CUDA's CUtensorMap, or xtune::hopper::TensorMap.
bool is_tensor_map(const FunctionArgument& argument) {
  return argument.pointers == 0 && !argument.is_reference &&
         is_like(argument.type, "(?:^|[: ])(?:CUtensorMap|TensorMap)$");
}

std::string product(const std::vector<std::string>& factors) {
  std::vector<std::string> terms;
  for (const std::string& factor : factors)
    if (factor != "1") terms.push_back(factor);
  if (terms.size() > 1)
    for (std::string& term : terms)
      if (term.find(' ') != std::string::npos) term = "(" + term + ")";
  return terms.empty() ? "1" : fmt::format("{}", fmt::join(terms, " * "));
}

std::vector<Value> thread_counts(std::size_t axes) {
  if (axes > 1) return {std::int64_t{8}, std::int64_t{16}, std::int64_t{32}};
  return {std::int64_t{64}, std::int64_t{128}, std::int64_t{256}};
}

/// A name that neither the source nor the spec has.
std::string unused_name(Work& work, std::string name, const char* suffix, bool in_source) {
  while (work.taken.contains(name) || (in_source && work.names.words.contains(name)) ||
         !spec::reserved_meaning(name).empty() || name == "device")
    name += suffix;
  work.taken.insert(name);
  return name;
}

std::string unused_argument(Work& work, const std::string& name) {
  std::string unused = name.empty() ? fmt::format("argument_{}", work.model.arguments.size() + 1) : name;
  // The names serve only the spec, whose expressions have words such as `in`.
  while (!spec::identifier_complaint(unused).empty() || !work.argument_names.insert(unused).second) unused += "_";
  return unused;
}

void add_macros(Work& work) {
  for (const OpenMacro& macro : work.names.macros) {
    const auto value = integer_of(macro.value);
    if ((!macro.value.empty() && !value) || !spec::reserved_meaning(macro.name).empty()) continue;
    DraftParameter parameter;
    parameter.name = macro.name;
    parameter.values = plausible_values(macro.name, value, macro.is_condition);
    const std::string place = fmt::format("line {}", macro.line);
    if (macro.kind == OpenMacro::Kind::undefined) parameter.comment = "guess: " + place + " uses it";
    if (macro.kind == OpenMacro::Kind::defaulted)
      parameter.comment = fmt::format("{} by default ({})", macro.value, place);
    if (macro.kind == OpenMacro::Kind::fixed) {
      parameter.comment =
          fmt::format("to tune it, put #ifndef {} and #endif around its #define on {}", macro.name, place);
      parameter.commented_out = true;
    } else {
      work.expressions.set(macro.name, macro.name);
      work.taken.insert(macro.name);
    }
    work.model.parameters.push_back(std::move(parameter));
  }
}

/// A type belongs to the problem: a search over types would answer with the shortest one.
std::string type_parameter(Work& work, const TemplateParameter& parameter) {
  const std::string type = work.types.element_type(parameter.default_value) ? parameter.default_value : "float";
  work.types.set(parameter.name, type);
  const std::string name = unused_name(work, parameter.name.empty() ? "TYPE" : parameter.name, "_TYPE", false);
  work.model.sizes.push_back(
      {name, "\"" + type + "\"", "", "guess: a type of the entry; where it changes, the dtype of arguments changes"});
  return "{" + name + "}";
}

std::string value_parameter(Work& work, const TemplateParameter& parameter) {
  const std::string name =
      unused_name(work, macro_case(parameter.name.empty() ? "VALUE" : parameter.name), "_VALUE", true);
  const auto value = integer_of(parameter.default_value);
  const bool flag = parameter.type == "bool";
  work.model.parameters.push_back(
      {name, plausible_values(name, flag ? 0 : value, flag), true,
       value ? fmt::format("{} by default", *value) : "guess: a template parameter of the entry"});
  work.expressions.set(parameter.name, name);
  const bool number = flag || parameter.type == "auto" || work.types.element_type(parameter.type);
  return number ? "{" + name + "}" : fmt::format("static_cast<{}>({{{}}})", parameter.type, name);
}

void add_entry(Work& work) {
  work.model.kernel = work.kernel.name.substr(0, 100);
  RE2::GlobalReplace(&work.model.kernel, "[^A-Za-z0-9]", "_");
  std::vector<std::string> words;
  bool complete = true;
  for (const TemplateParameter& parameter : work.kernel.templates) {
    complete = complete && !parameter.is_pack && parameter.type.find("template") == std::string::npos;
    if (complete)
      words.push_back(parameter.is_type() ? type_parameter(work, parameter) : value_parameter(work, parameter));
  }
  work.model.entry = work.kernel.qualified;
  if (!words.empty()) work.model.entry += fmt::format("<{}>", fmt::join(words, ", "));
  if (!complete) work.model.notes.push_back("guess: entry lacks template arguments that only the author knows");
}

[[noreturn]] void refuse(const Work& work, const FunctionArgument& argument) {
  const std::string shown = argument.type + std::string(static_cast<std::size_t>(argument.pointers), '*') +
                            (argument.is_reference ? "&" : "");
  throw Error(
      ErrorKind::invalid_argument,
      fmt::format("{}:{}: argument '{}' of {} has type '{}', and a spec has no such argument: it passes numbers "
                  "and pointers to them. Pass its members one by one, or a pointer to it",
                  work.request.source_path, work.kernel.line, argument.name, work.kernel.name,
                  base::printable(shown, 80)));
}

/// Refuses arguments that a spec cannot have, names the sizes, and reads the body.
void add_sizes(Work& work) {
  if (work.kernel.arguments.empty())
    throw Error(ErrorKind::invalid_argument,
                fmt::format("{}:{}: {} takes no arguments, and a spec needs one: its inputs and outputs are arguments",
                            work.request.source_path, work.kernel.line, work.kernel.name));
  std::set<std::string> size_names, pointers;
  bool any_buffer = false;
  for (const FunctionArgument& argument : work.kernel.arguments) {
    const auto type = work.types.element_type(argument.type);
    any_buffer = any_buffer || is_tensor_map(argument) || argument.pointers == 1;
    if (is_tensor_map(argument)) continue;
    if (argument.pointers > 1 || argument.is_reference ||
        (!type && (argument.pointers == 0 || argument.type == "void")) || (argument.pointers == 0 && type->lanes > 1))
      refuse(work, argument);
    if (argument.pointers == 1) pointers.insert(argument.name);
    if (!is_size(argument, work.types)) continue;
    size_names.insert(argument.name);
    work.sizes.emplace_back(argument.name, unused_name(work, macro_case(argument.name), "_SIZE", false));
    work.expressions.set(argument.name, work.sizes.back().second);
    work.model.sizes.push_back({work.sizes.back().second, "", "", "guess: the argument " + argument.name});
  }
  work.use = body_use(work.kernel.body, size_names, pointers);
  if (!work.sizes.empty() || !any_buffer) return;
  work.sizes.emplace_back("", unused_name(work, "N", "_SIZE", false));
  work.model.sizes.push_back({work.sizes.back().second, "", "", "guess: elements of each buffer"});
}

/// In the order of the arguments.
std::vector<std::string> named_sizes(const Work& work, const std::set<std::string>& asked) {
  std::vector<std::string> list;
  for (const auto& [argument, name] : work.sizes)
    if (asked.contains(argument)) list.push_back(name);
  return list;
}

std::vector<std::string> all_sizes(const Work& work) {
  std::vector<std::string> list;
  for (const auto& [argument, name] : work.sizes) list.push_back(name);
  return list;
}

/// The first argument of __launch_bounds__, as one factor for each axis; empty: unknown.
std::vector<std::string> launch_bounds(const Work& work, std::size_t axes) {
  if (work.kernel.launch_bounds.empty()) return {};
  const auto whole = work.expressions.text_of(work.kernel.launch_bounds.front());
  if (!whole || integer_of(*whole)) return {};
  if (axes == 1) return {*whole};
  std::vector<std::string> factors = base::split(*whole, '*');
  for (std::string& factor : factors)
    if (!RE2::FullMatch(factor, " *(\\w+) *", &factor)) return {};
  return factors.size() == axes ? factors : std::vector<std::string>();
}

std::string block_extent(Work& work, std::size_t i, std::size_t axes) {
  const AxisUse& axis = work.use.axes[i];
  const auto threads = work.expressions.text_of(axis.threads);
  if (threads && !integer_of(*threads)) {
    // Values that were guessed by the name give way to those that the launch implies.
    for (DraftParameter& parameter : work.model.parameters)
      if (parameter.name == *threads && parameter.comment.starts_with("guess")) parameter.values = thread_counts(axes);
    return *threads;
  }
  const std::string suffix = axes > 1 ? std::string("_") + axis_capitals[i] : "";
  if (!axis.block_size)
    for (const char* name : {"BLOCK", "BLOCK_SIZE", "THREADS", "NUM_THREADS", "BLOCK_DIM", "TPB", "THREADS_PER_BLOCK"})
      if (const auto known = work.expressions.text_of(tokens_of(name + suffix))) return *known;
  const std::string name = unused_name(work, "THREADS" + suffix, "_PER_BLOCK", true);
  work.model.parameters.push_back({name, thread_counts(axes), false, "guess: the launch decides"});
  return name;
}

void add_block(Work& work) {
  std::size_t axes = 0;
  for (std::size_t i = 0; i < 3; ++i)
    if (work.use.axes[i].thread || work.use.axes[i].block_size) axes = i + 1;
  if (axes == 0 && (!work.kernel.launch_bounds.empty() || work.names.words.contains("threadIdx"))) {
    axes = 1;  // functions that the kernel calls ask for the thread
    work.use.axes[0].thread = true;
  }
  work.model.block.assign(std::max<std::size_t>(axes, 1), "1");
  if (axes == 0) return;
  const std::vector<std::string> bounds = launch_bounds(work, axes);
  for (std::size_t i = 0; i < axes; ++i) {
    std::string& extent = work.model.block[i];
    if (work.use.axes[i].thread || work.use.axes[i].block_size)
      extent = i < bounds.size() ? bounds[i] : block_extent(work, i, axes);
    work.expressions.set(std::string("blockDim.") + axis_names[i], extent);
  }
  work.model.block_comment = "guess";
  const std::string threads = product(work.model.block);
  if (axes > 1 || threads.find(' ') != std::string::npos)
    work.model.constraints.push_back((threads.find("//") == std::string::npos ? "" : "1 <= ") + threads + " <= 1024");
}

std::string grid_extent(Work& work, std::size_t i, std::size_t axes) {
  const AxisUse& axis = work.use.axes[i];
  std::vector<std::string> factors;
  bool known = true;
  for (const Tokens& factor : axis.tile) {
    for (const Token& token : factor) known = known && named_sizes(work, {token.text}).empty();
    factors.push_back(work.expressions.text_of(factor).value_or(""));
    known = known && !factors.back().empty();
  }
  std::vector<std::string> limits = named_sizes(work, axis.sizes);
  if (limits.empty() && !factors.empty()) {
    limits = all_sizes(work);
    // By custom x runs along the last extent, y along the one before.
    if (axes > 1 && limits.size() >= axes) limits = {limits[limits.size() - 1 - i]};
  }
  if (!known || limits.empty()) {
    work.grid_sizes[i] = unused_name(work, std::string("GRID_") + axis_capitals[i], "_SIZE", false);
    work.model.sizes.push_back(
        {work.grid_sizes[i], "1024", "256", std::string("guess: blocks along ") + axis_names[i]});
    return work.grid_sizes[i];
  }
  return factors.empty() ? product(limits) : fmt::format("ceildiv({}, {})", product(limits), product(factors));
}

void add_grid(Work& work) {
  std::size_t axes = 1;
  for (std::size_t i = 0; i < 3; ++i)
    if (work.use.axes[i].block) axes = i + 1;
  for (std::size_t i = 0; i < axes; ++i)
    work.model.grid.push_back(work.use.axes[i].block ? grid_extent(work, i, axes) : "1");
  work.model.grid_comment = work.use.axes[0].block || axes > 1 ? "guess" : "";
}

void add_scalar(const Work& work, const FunctionArgument& argument, DType type, DraftArgument& drafted) {
  if (const auto size = named_sizes(work, {argument.name}); !size.empty() && !argument.name.empty()) {
    drafted.value = "\"" + size.front() + "\"";
    return;
  }
  drafted.comment = "guess: its value";
  if (is_stride(argument.name) && !work.sizes.empty())
    drafted.value = "\"" + work.sizes.back().second + "\"";
  else if (type == DType::boolean)
    drafted.value = "\"false\"";
  else if (is_integer(type))
    drafted.value = is_like(argument.name, "(?i)step|iter") ? "1" : "0";
  else
    drafted.value = is_like(argument.name, "(?i)^eps") ? "1e-5" : "1.0";
}

void add_buffer(Work& work, const FunctionArgument& argument, const std::optional<ElementType>& type,
                DraftArgument& drafted) {
  const PointerUse& use = work.use.pointers[argument.name];
  std::vector<std::string> shape = named_sizes(work, use.sizes);
  for (const std::size_t block : use.blocks)
    if (const auto grid = work.grid_sizes.find(block); grid != work.grid_sizes.end())
      shape.insert(shape.begin(), grid->second);
  if (shape.size() == 1 && use.rows) shape.push_back(shape.front());  // rows as long as there are rows
  if (shape.size() == 1 && type && is_integer(type->type) && is_like(argument.name, "ptr|offsets"))
    shape.front() += " + 1";  // where each row begins, and where the last one ends
  const bool known = !shape.empty() || use.only_first;
  if (shape.empty()) shape = use.only_first ? std::vector<std::string>{"1"} : all_sizes(work);
  if (type && type->lanes > 1) shape.push_back(std::to_string(type->lanes));
  if (!type) shape.emplace_back("16");
  if (shape.size() > 8) shape = {product(shape)};
  drafted.shape = shape;
  drafted.role = argument.is_const ? "in"
                 : use.written && use.read && is_like(argument.name, "(?i)scratch|workspace|partial|^te?mp$")
                     ? "scratch"
                 : use.written && !use.read && known ? "out"
                                                     : "inout";
  drafted.comment = !argument.is_const ? "guess: its shape and role" : "guess: its shape";
  if (!type) drafted.comment = fmt::format("guess: {} has 16 bytes", argument.type);
  if (use.data)
    drafted.comment += "; other arguments hold its index: fill them with its range, { integers = [0, ...] }";
}

void add_arguments(Work& work) {
  for (const FunctionArgument& argument : work.kernel.arguments) {
    DraftArgument drafted;
    drafted.name = unused_argument(work, argument.name);
    const auto type = work.types.element_type(argument.type);
    drafted.dtype = type ? to_string(type->type) : "u8";
    if (is_tensor_map(argument))
      drafted.kind = "tensor_map";
    else if (argument.pointers == 0)
      add_scalar(work, argument, type->type, drafted);
    else
      add_buffer(work, argument, type, drafted);
    work.model.arguments.push_back(std::move(drafted));
  }
}

/// The buffer behind each tensor map: a pointer that the kernel takes, too, or one behind its arguments.
void add_mapped_buffers(Work& work) {
  std::vector<std::string> taken;
  for (const DraftArgument& argument : work.model.arguments) taken.push_back(argument.name);
  for (std::size_t i = 0; i < taken.size(); ++i) {
    if (work.model.arguments[i].kind != "tensor_map") continue;
    // "A" of "A_map", "tma_A" and "tensorMapA"
    static const RE2 form(
        "(?i)(?:tensor_?map|t?map|tma|desc|descriptor)?_*(.*?)_*(?:tensor_?map|t?map|tma|desc|descriptor)?");
    std::string name;
    RE2::FullMatch(taken[i], form, &name);
    const DraftArgument* known = base::find_named(work.model.arguments, name);
    if (known && (!known->kind.empty() || !known->value.empty())) known = nullptr;
    DraftArgument buffer;
    if (!known) {
      buffer.name = name = unused_argument(work, name.empty() ? taken[i] + "_data" : name);
      buffer.dtype = "f16";
      buffer.shape = {work.sizes.front().second, work.sizes.back().second};
      buffer.role = is_like(name, "(?i)^(?:[cdyo]_?|out.*)$") ? "out" : "in";
      buffer.comment = "guess: its type, shape and role";
      work.model.kernel_args = taken;
    }
    work.model.arguments[i].of = name;
    std::vector<std::string>& box = work.model.arguments[i].box;
    box.assign(std::min<std::size_t>((known ? *known : buffer).shape.size(), 5), "64");
    if (box.size() > 2) std::fill(box.begin(), box.end() - 2, "1");
    if (!known) work.model.arguments.push_back(std::move(buffer));
  }
}

/// Without a name; nullopt: its type or its extents are not those of a spec.
std::optional<DraftArgument> drafted_constant(const Work& work, const ConstantVariable& variable) {
  const auto type = work.types.element_type(variable.type);
  if (!type) return std::nullopt;
  DraftArgument drafted;
  for (const Tokens& extent : variable.extents) {
    const auto text = work.expressions.text_of(extent);
    if (!text || !integer_of(*text)) return std::nullopt;
    drafted.shape.push_back(*text);
  }
  if (drafted.shape.empty()) drafted.shape = {"1"};
  if (type->lanes > 1) drafted.shape.push_back(std::to_string(type->lanes));
  drafted.kind = "constant";
  drafted.dtype = to_string(type->type);
  drafted.role = "in";
  drafted.comment = "guess: its contents are random";
  return drafted;
}

void add_constants(Work& work) {
  for (const ConstantVariable& variable : work.names.constants) {
    if (work.argument_names.contains(variable.name) ||
        std::none_of(work.kernel.body.begin(), work.kernel.body.end(),
                     [&](const Token& each) { return each.is(variable.name); }))
      continue;
    if (std::optional<DraftArgument> constant = drafted_constant(work, variable)) {
      constant->name = unused_argument(work, variable.name);
      work.model.arguments.push_back(std::move(*constant));
    } else {
      work.model.notes.push_back(
          fmt::format("guess: {} (line {}) is a __constant__ variable: an argument with kind = \"constant\" fills it",
                      variable.name, variable.line));
    }
  }
}

/// Sizes without a value: smaller ones where there are several, or one twice, which multiply.
void give_values(DraftModel& model) {
  const auto is_square = [](const DraftArgument& each) {
    return each.shape.size() == 2 && each.shape[0] == each.shape[1];
  };
  std::size_t open = std::any_of(model.arguments.begin(), model.arguments.end(), is_square) ? 1 : 0;
  for (const DraftSize& size : model.sizes) open += size.value.empty() || size.name.starts_with("GRID_");
  for (DraftSize& size : model.sizes) {
    if (!size.value.empty()) continue;
    size.value = open == 1 ? "1048576" : open == 2 ? "2048" : open == 3 ? "512" : "64";
    size.host_value = open == 1 ? "4096" : open == 2 ? "256" : open == 3 ? "128" : "32";
  }
}

DraftModel drafted_model(Work work) {
  add_macros(work);
  add_entry(work);
  add_sizes(work);
  add_block(work);
  add_grid(work);
  add_arguments(work);
  add_mapped_buffers(work);
  add_constants(work);
  if (!work.use.shared_type.empty()) {
    const auto type = work.types.element_type(work.use.shared_type);
    const std::size_t bytes = type ? size_of(type->type) * static_cast<std::size_t>(type->lanes) : 16;
    work.model.shared = product({product(work.model.block), std::to_string(bytes)});
  }
  give_values(work.model);
  if (work.model.parameters.empty())
    work.model.parameters.push_back(
        {unused_name(work, "VARIANT", "_", true),
         {std::int64_t{1}},
         false,
         "no open parameter was found: macros and template parameters of the kernel go here"});
  return std::move(work.model);
}

std::string with_comment(const std::string& line, const std::string& comment) {
  return comment.empty() ? line + "\n" : fmt::format("{}  # {}\n", line, comment);
}

std::string list_text(const std::vector<std::string>& texts) {
  std::vector<std::string> quoted;
  for (const std::string& text : texts) quoted.push_back(spec::toml_string(text));
  return fmt::format("[{}]", fmt::join(quoted, ", "));
}

std::string parameter_text(const DraftParameter& parameter) {
  const std::string values = spec::toml_list(parameter.values);
  std::string line = parameter.commented_out ? "# " : "";
  line += parameter.name + " = ";
  line += parameter.compile_time ? values : fmt::format("{{ values = {}, compile_time = false }}", values);
  return with_comment(line, parameter.comment);
}

std::string space_text(const DraftModel& model) {
  std::string text;
  if (!model.constraints.empty()) text += "\n[space]\nconstraints = " + list_text(model.constraints) + "\n";
  text += model.constraints.empty() ? "\n[space.params]\n" : "[space.params]\n";
  for (const DraftParameter& parameter : model.parameters) text += parameter_text(parameter);
  return text;
}

std::string problem_text(const DraftModel& model) {
  if (model.sizes.empty()) return "";
  std::string text = "\n[problem]\n", host;
  for (const DraftSize& size : model.sizes) {
    text += with_comment(size.name + " = " + size.value, size.comment);
    if (!size.host_value.empty()) host += size.name + " = " + size.host_value + "\n";
  }
  if (!host.empty()) text += "\n# On the CPU, where a kernel takes longer.\n[on.host.problem]\n" + host;
  return text;
}

std::string argument_text(const DraftArgument& argument) {
  std::string text = "\n[[args]]\n";
  text += with_comment("name = " + spec::toml_string(argument.name), argument.comment);
  if (!argument.value.empty()) text += "kind = \"scalar\"\n";
  if (!argument.kind.empty()) text += "kind = " + spec::toml_string(argument.kind) + "\n";
  if (!argument.of.empty())
    return text + "of = " + spec::toml_string(argument.of) + "\n" +
           with_comment("box = " + list_text(argument.box), "guess: swizzle = 128 where the kernel expects it");
  text += "dtype = " + spec::toml_string(argument.dtype) + "\n";
  if (!argument.value.empty()) return text + "value = " + argument.value + "\n";
  text += "shape = " + list_text(argument.shape) + "\n";
  if (argument.role != "in") text += "role = " + spec::toml_string(argument.role) + "\n";
  return text;
}

/// The kernel judges itself until the user has something better.
std::string validate_text(const DraftModel& model) {
  const auto is_output = [](const DraftArgument& argument) {
    return argument.role == "out" || argument.role == "inout";
  };
  if (std::none_of(model.arguments.begin(), model.arguments.end(), is_output)) return "";
  std::vector<std::string> values;
  for (const DraftParameter& parameter : model.parameters)
    if (!parameter.commented_out && parameter.values.size() > 1)
      values.push_back(parameter.name + " = " + spec::toml_text(parameter.values.front()));
  const std::string simple =
      "# reference = { kernel = \"simple\", source = \"simple.cu\", grid = [\"ceildiv(N, 256)\"], block = [256] }\n";
  if (values.empty())
    return "\n# Nothing checks the results yet. A simple kernel with the same arguments can:\n# [validate]\n" + simple;
  return "\n[validate]\n# A simple kernel with the same arguments finds more mistakes:\n" + simple +
         with_comment(fmt::format("reference = {{ config = {{ {} }} }}", fmt::join(values, ", ")),
                      "guess: the kernel is right there");
}

/// As TOML. Comments stand behind what they speak of, so that a line can be taken over or changed by itself.
std::string draft_text(const DraftModel& model, const DraftRequest& request) {
  std::string text = fmt::format(
      "# A draft that `xtune init` made from {}. Lines with \"guess\" need a look. Then:\n"
      "#   xtune check {}\n#   xtune run {}\n\n[kernel]\nname = {}\nsource = {}\nentry = {}\n",
      request.source_path, request.spec_path, request.spec_path, spec::toml_string(model.kernel),
      spec::toml_string(request.source_path), spec::toml_string(model.entry));
  if (!model.kernel_args.empty())
    text += with_comment("args = " + list_text(model.kernel_args), "it reads the other arguments through tensor maps");
  for (const std::string& note : model.notes) text += "# " + note + "\n";
  text += problem_text(model);
  text += space_text(model);
  text += "\n[launch]\n" + with_comment("grid = " + list_text(model.grid), model.grid_comment) +
          with_comment("block = " + list_text(model.block), model.block_comment);
  if (!model.shared.empty()) text += with_comment("shared = " + spec::toml_string(model.shared), "guess");
  for (const DraftArgument& argument : model.arguments) text += argument_text(argument);
  text += validate_text(model);
  text += "\n# Shown beside the time:\n# [metrics]\n# GB_per_s = \"2 * 4 * N / time_s / 1e9\"\n";
  return text;
}

std::string list_of(const std::vector<KernelFunction>& kernels) {
  std::vector<std::string> names;
  for (const KernelFunction& kernel : kernels)
    names.push_back(fmt::format("{} (line {})", kernel.qualified, kernel.line));
  return fmt::format("{}", fmt::join(names, ", "));
}

const KernelFunction& chosen_kernel(const std::vector<KernelFunction>& kernels, const DraftRequest& request) {
  const auto fail = [&](const std::string& message) {
    throw Error(ErrorKind::invalid_argument, request.source_path + ": " + message);
  };
  if (kernels.empty()) fail("no __global__ function with a body was found");
  if (request.entry.empty() && kernels.size() > 1)
    fail("several kernels were found: " + list_of(kernels) + "; --entry NAME chooses one");
  if (request.entry.empty()) return kernels.front();
  std::vector<std::string> names;
  for (const KernelFunction& kernel : kernels) {
    if (kernel.name == request.entry || kernel.qualified == request.entry) return kernel;
    names.push_back(kernel.qualified);
  }
  fail(fmt::format("no kernel '{}' was found{}; it has {}", base::printable(request.entry, 80),
                   base::did_you_mean(request.entry, names), list_of(kernels)));
  return kernels.front();
}

}  // namespace

std::vector<std::string> header_texts(const std::filesystem::path& path, const std::string& text) {
  build::CompileRequest request;
  request.source_name = path.string();
  request.source = text;
  build::ScannedFiles headers;
  build::source_closure(request, {}, headers);
  std::vector<std::string> texts;
  for (const auto& [header, scanned] : headers) texts.push_back(system::read_file(header));
  return texts;
}

Draft draft_spec(const DraftRequest& request) {
  const TokenizedSource source = tokenize(request.source);
  std::vector<TokenizedSource> headers;
  TokenizedSource all = source;
  for (const std::string& header : request.headers) {
    headers.push_back(tokenize(header));
    all.tokens.insert(all.tokens.end(), headers.back().tokens.begin(), headers.back().tokens.end());
    all.directives.insert(all.directives.end(), headers.back().directives.begin(), headers.back().directives.end());
  }
  const std::vector<KernelFunction> kernels = kernel_functions(source.tokens);
  const KernelFunction& kernel = chosen_kernel(kernels, request);
  const TypeNames types(all);
  const SourceNames names = source_names(source, headers, types, kernels);
  const DraftModel model = drafted_model({request, kernel, names, types});
  Draft draft{draft_text(model, request), model.kernel, model.entry, {}, {}};
  for (const DraftParameter& parameter : model.parameters)
    if (!parameter.commented_out) draft.parameters.push_back(parameter.name);
  std::size_t begin = 0;
  for (std::size_t end = draft.text.find('\n'); end != std::string::npos; end = draft.text.find('\n', begin)) {
    const std::string line = draft.text.substr(begin, end - begin);
    if (line.find("# guess") != std::string::npos) draft.guesses.push_back(line);
    begin = end + 1;
  }
  return draft;
}

}  // namespace xtune::init
