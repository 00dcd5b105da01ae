// A refusal must be right: whatever cannot be read for sure is left to the compiler and the launch.
#include "core/init/signature.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "base/named.hpp"
#include "base/text.hpp"
#include "core/init/source.hpp"

namespace xtune::init {

std::optional<UserHeaders> user_headers(const spec::SourceText& source, const spec::KernelSpec& kernel) {
  build::CompileRequest request;
  request.source_name = source.path.string();
  request.source = source.text;
  request.first_line = source.first_line;
  request.include_dirs.push_back(source.path.parent_path().string());
  for (const std::filesystem::path& directory : kernel.include_dirs) request.include_dirs.push_back(directory.string());
  std::vector<std::string> options;
  for (const spec::Text& option : kernel.options) options.push_back(option.text);
  for (const auto& [backend, own] : kernel.backend_options)
    for (const spec::Text& option : own) options.push_back(option.text);
  const build::IncludeOptions paths = build::include_options(options);
  if (!paths.forced.empty()) return std::nullopt;
  request.include_dirs.insert(request.include_dirs.end(), paths.folders.begin(), paths.folders.end());
  UserHeaders headers;
  headers.missing = build::source_closure(request, {}, headers.files).missing;
  headers.searched = std::move(request.include_dirs);
  return headers;
}

std::vector<std::pair<std::filesystem::path, std::string>> UserHeaders::texts() const {
  constexpr std::size_t max_bytes = std::size_t{1} << 20;  // a token takes 60 bytes
  std::vector<std::pair<std::filesystem::path, std::string>> found;
  for (const auto& [path, header] : files)
    if (!header.text.empty() && header.text.size() <= max_bytes) found.emplace_back(path, header.text);
  return found;
}

namespace {

/// A source with the user's headers.
struct SourceFile {
  std::string name;
  std::size_t first_line = 1;
  TokenizedSource text;
};

struct FoundKernel {
  KernelFunction function;
  std::string place;       ///< "gemm.cu:12"
  std::string overloaded;  ///< that it is; empty: it is not
};

class Sources {
 public:
  Sources(const spec::Spec& spec, const std::filesystem::path& path) {
    const spec::SourceText source = spec::read_source(spec, path);
    files_.push_back({source.path.filename().string(), source.first_line, tokenize(source.text)});
    const std::optional<UserHeaders> headers = user_headers(source, spec.kernel);
    complete_ = headers.has_value();
    if (headers)
      for (const auto& [header, text] : headers->texts())
        files_.push_back({header.filename().string(), 1, tokenize(text)});
    for (const SourceFile& file : files_) {
      add(file.text);
      for (KernelFunction& kernel : kernel_functions(file.text.tokens)) {
        const std::string place = fmt::format("{}:{}", file.name, file.first_line - 1 + kernel.line);
        const std::string overloaded = overload_complaint(file.text, kernel);
        kernel.only = kernel.only && !is_conditional(file.text, kernel);
        kernels_.push_back({std::move(kernel), place, overloaded.empty() ? "" : file.name + ": " + overloaded});
      }
    }
    std::vector<std::string> options;
    for (const spec::Text& option : spec.kernel.options) options.push_back(option.text);
    own_macros_ = build::defined_macros(options);
    for (const auto& [name, text] : spec.kernel.defines) own_macros_.insert(name);
    for (const space::Parameter& parameter : spec.parameters) own_macros_.insert(parameter.name);
  }

  /// nullptr: none, or several.
  const FoundKernel* find(const std::string& name) const {
    const FoundKernel* found = nullptr;
    for (const FoundKernel& kernel : kernels_) {
      if (kernel.function.name != name) continue;
      if (found) return nullptr;
      found = &kernel;
    }
    return found;
  }

  /// Whether a macro of the spec with this name replaces the word in the kernel: it is not in a header, which may come
  /// before the macros.
  bool is_replaced(const FoundKernel& kernel, const std::string& name) const {
    return kernel.place.starts_with(files_.front().name + ":") &&
           std::ranges::none_of(files_.front().text.directives, [&](const Directive& each) {
             return each.name == "undef" && base::trimmed(each.text, " \t\r") == name;
           });
  }

  /// Whether no kernel can have this name, and another one is there.
  bool lacks(const std::string& name) const {
    return complete_ && !kernels_.empty() && !words_.contains(name) && !own_macros_.contains(name);
  }

  std::vector<std::string> kernel_names() const {
    std::vector<std::string> names;
    for (const FoundKernel& kernel : kernels_) names.push_back(kernel.function.name);
    return names;
  }

  /// Whether the arguments are as many as are written: no macro stands for several.
  bool is_plain(const KernelFunction& kernel) const {
    return kernel.only &&
           std::none_of(
               kernel.declared.begin(), kernel.declared.end(),
               [&](const Token& token) { return token.is("(") || token.is(".") || lists_.contains(token.text); }) &&
           std::ranges::none_of(kernel.arguments, [](const FunctionArgument& argument) {
             return argument.name.empty() && argument.pointers == 0 && !TypeNames({}).element_type(argument.type);
           });
  }

  /// The types, with the template arguments of an entry such as "gemm<float, {TILE}>".
  TypeNames types(const KernelFunction& kernel, const std::string& entry) const {
    TokenizedSource all;
    for (const SourceFile& file : files_) add_source(all, file.text);
    TypeNames types(all);
    for (const std::string& name : own_macros_) types.set(name, "");
    const std::size_t open = entry.find('<'), close = entry.rfind('>');
    std::vector<Tokens> given;
    if (open < close && close != std::string::npos)
      given = split_arguments(tokens_of(entry.substr(open + 1, close - open - 1)));
    for (std::size_t i = 0; i < kernel.templates.size(); ++i)
      if (kernel.templates[i].is_type())
        types.set(kernel.templates[i].name, i < given.size() ? text_of(given[i]) : kernel.templates[i].default_value);
    return types;
  }

 private:
  /// Whether a condition begins or ends between __global__ and the body, or another branch has the name, too.
  static bool is_conditional(const TokenizedSource& source, const KernelFunction& kernel) {
    const std::size_t last = kernel.body.empty() ? kernel.line : kernel.body.front().line;
    return std::ranges::any_of(
               source.directives,
               [&](const Directive& each) { return each.line >= kernel.first_line && each.line <= last; }) ||
           std::ranges::any_of(source.tokens,
                               [&](const Token& each) { return each.alternative && each.is(kernel.name); });
  }

  void add(const TokenizedSource& source) {
    words_.merge(identifiers_of(source));
    for (const Directive& directive : source.directives) {
      const Tokens tokens = tokens_of(directive.text);
      if (directive.name == "include") {
        const bool quoted = directive.text.starts_with('"'), known = quoted || directive.text.starts_with('<');
        const std::string name = std::filesystem::path(base::trimmed(directive.text, "\"<> \t")).filename().string();
        complete_ = complete_ && known &&
                    (!quoted || std::ranges::any_of(files_, [&](const auto& file) { return file.name == name; }));
      }
      if (directive.name != "define" || tokens.empty()) continue;
      complete_ = complete_ && directive.text.find("##") == std::string::npos;
      if (std::ranges::any_of(tokens, [](const Token& each) { return each.is(",") || each.is("("); }))
        lists_.insert(tokens.front().text);
    }
  }

  std::vector<SourceFile> files_;
  std::vector<FoundKernel> kernels_;
  bool complete_ = true;              ///< nothing that was not read can have a kernel
  std::set<std::string> words_;       ///< all identifiers
  std::set<std::string> lists_;       ///< macros that may stand for several arguments
  std::set<std::string> own_macros_;  ///< names that the spec defines
};

bool is_cxx_float(DType type) {
  return type == DType::f32 || type == DType::f64 || type == DType::c64 || type == DType::c128;
}
bool is_short_float(DType type) {
  return type == DType::f16 || type == DType::bf16 || type == DType::f8e4m3 || type == DType::f8e5m2;
}

}  // namespace

bool fits(DType declared, DType given, bool is_buffer) {
  if (declared == given) return true;
  if (is_cxx_float(declared) || is_cxx_float(given)) {
    if (!is_buffer) return false;
    if (is_cxx_float(declared) && is_cxx_float(given)) return spec::part_of(declared) == spec::part_of(given);
    return !is_short_float(declared) && !is_short_float(given) && !is_cxx_float(declared) &&
           (size_of(declared) == 1 || size_of(declared) == size_of(spec::part_of(given)));
  }
  const auto is_number_alone = [](DType type) { return type == DType::f32 || type == DType::f64; };
  if (!is_buffer) return size_of(declared) == size_of(given) && is_number_alone(declared) == is_number_alone(given);
  if (is_short_float(declared) && is_short_float(given)) return false;
  return size_of(declared) == 1 || size_of(given) <= 2 || size_of(declared) == size_of(given);
}

std::string text_of(const FunctionArgument& argument) {
  return fmt::format("{}{}{} {}", argument.is_const && argument.pointers > 0 ? "const " : "", argument.type,
                     std::string(static_cast<std::size_t>(argument.pointers), '*'), argument.name);
}

namespace {

std::string text_of(const spec::ArgSpec& argument, DType dtype) {
  if (argument.kind == spec::ArgKind::tensor_map) return "a tensor map";
  if (argument.kind == spec::ArgKind::table) return "a table of addresses";
  if (argument.kind == spec::ArgKind::structure) return fmt::format("a value of {} bytes", argument.value_bytes);
  return fmt::format("a {} of {}", argument.kind == spec::ArgKind::scalar ? "scalar" : "buffer", to_string(dtype));
}

class SignatureCheck {
 public:
  explicit SignatureCheck(const spec::Spec& spec) : spec_(spec) {}

  void run() {
    const Sources sources(spec_, spec_.kernel.source);
    for (const spec::StepSpec& step : spec::steps_of(spec_))
      check(sources, step.entry.text, step.entry.at, spec::arguments_of(spec_, step.args));
    for (const auto& [argument, place] : read_only_)
      if (is_output(argument->role) && !written_.contains(argument))
        throw spec::spec_error(
            spec_, argument->at,
            fmt::format("the argument '{}' has role {}, and {} declares it {}. Give it role in, or "
                        "declare it without const",
                        argument->name, spec::role_words.of(argument->role), place.first, place.second));
    const spec::ReferenceSpec& reference = spec_.validate.reference;
    if (reference.kind != spec::ReferenceSpec::Kind::kernel || reference.config) return;
    read_only_.clear();
    check(reference.source == spec_.kernel.source ? sources : Sources(spec_, reference.source), reference.name,
          reference.at, spec::arguments_of(spec_, spec::reference_args(spec_)));
    for (const auto& [argument, place] : read_only_)
      if (argument->role == spec::ArgRole::out)
        throw spec::spec_error(spec_, reference.at,
                               fmt::format("the reference kernel gets the output '{}' where {} declares {}, and cannot "
                                           "write it: see the order of its args",
                                           argument->name, place.first, place.second));
  }

 private:
  using Arguments = std::vector<const spec::ArgSpec*>;

  void check(const Sources& sources, const std::string& entry, const spec::Location& at, const Arguments& arguments) {
    std::string name = build::unqualified_name(entry);
    if (name.find('{') != std::string::npos) name.clear();  // an expression makes it
    const FoundKernel* const found = name.empty() ? nullptr : sources.find(name);
    if (!name.empty() && !found && sources.lacks(name))
      throw spec::spec_error(
          spec_, at,
          fmt::format("the source has no kernel '{}'{}; it has {}", base::printable(name, 80),
                      base::did_you_mean(name, sources.kernel_names()), fmt::join(sources.kernel_names(), ", ")));
    if (found && !found->overloaded.empty()) throw spec::spec_error(spec_, at, found->overloaded);
    if (!found || !sources.is_plain(found->function)) {
      written_.insert(arguments.begin(), arguments.end());
      return;
    }
    const KernelFunction& kernel = found->function;
    if (kernel.arguments.size() != arguments.size()) refuse_count(*found, at, arguments);
    for (const FunctionArgument& argument : kernel.arguments)
      if (const auto* parameter = base::find_named(spec_.parameters, argument.name);
          parameter && parameter->compile_time && sources.is_replaced(*found, argument.name))
        throw spec::spec_error(spec_, parameter_at(argument.name),
                               fmt::format("the parameter '{}' is a macro, and {} takes {} ({}): choose another name",
                                           argument.name, kernel.name, text_of(argument), found->place));
    const TypeNames types = sources.types(kernel, entry);
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      check_type(*found, i, types, *arguments[i]);
      const bool read_only = kernel.arguments[i].pointers == 1 && kernel.arguments[i].is_const;
      if (read_only)
        read_only_.try_emplace(arguments[i], found->place, text_of(kernel.arguments[i]));
      else
        written_.insert(arguments[i]);
    }
  }

  const spec::Location& parameter_at(const std::string& name) const {
    const auto found = std::ranges::find(spec_.parameters, name, &space::Parameter::name);
    return spec_.parameters_at[static_cast<std::size_t>(found - spec_.parameters.begin())];
  }

  [[noreturn]] void refuse_count(const FoundKernel& kernel, const spec::Location& at,
                                 const Arguments& arguments) const {
    std::vector<std::string> declared, given;
    for (const FunctionArgument& argument : kernel.function.arguments) declared.push_back(text_of(argument));
    for (const spec::ArgSpec* argument : arguments) given.push_back(argument->name);
    throw spec::spec_error(
        spec_, at,
        fmt::format("{} takes {} arguments ({}; {}), and the spec gives it {} ({})", kernel.function.name,
                    declared.size(), fmt::join(declared, ", "), kernel.place, given.size(), fmt::join(given, ", ")));
  }

  void check_type(const FoundKernel& kernel, std::size_t number, const TypeNames& types,
                  const spec::ArgSpec& given) const {
    const FunctionArgument& declared = kernel.function.arguments[number];
    const auto type = types.element_type(declared.type);
    if (!declared.is_reference && declared.pointers == 0) check_value(kernel, number, types, given);
    if (declared.is_reference || declared.pointers > 1 || (declared.pointers == 0 && (!type || type->lanes > 1)))
      return;
    const bool is_buffer = given.kind == spec::ArgKind::buffer;
    for (const Bindings& problem : spec_.cases) {
      const DType dtype = spec::dtype_of(given, problem);
      const bool known = type && type->lanes == 1 && given.kind != spec::ArgKind::tensor_map;
      if (is_buffer == (declared.pointers == 1) && given.kind != spec::ArgKind::tensor_map &&
          (!known || fits(type->type, dtype, is_buffer)))
        continue;
      throw spec::spec_error(
          spec_, given.at,
          fmt::format("argument {} of {} is {} ({}), and the spec's '{}' is {}", number + 1, kernel.function.name,
                      text_of(declared), kernel.place, given.name, text_of(given, dtype)));
    }
  }

  /// The numbers of a struct and of those in it, as a compiler places them.
  struct Layout {
    std::vector<spec::FieldSpec> fields{};
    std::size_t bytes = 0, alignment = 1;
  };

  /// nullopt: not known for sure. in_struct: a vector of 32 bytes has another alignment with each compiler.
  static std::optional<Layout> layout_of(const TypeNames& types, const std::vector<StructField>& declared,
                                         bool in_struct, int depth = 0) {
    constexpr std::size_t max_fields = 4096;
    constexpr int max_depth = 16;
    const auto aligned = [](std::size_t bytes, std::size_t to) { return (bytes + to - 1) / to * to; };
    Layout all;
    for (const StructField& field : declared) {
      Layout one;
      const auto element = field.pointers > 0 ? ElementType{DType::u64} : types.element_type(field.type);
      const std::vector<StructField>* const nested = element ? nullptr : types.fields_of(field.type);
      if (element && in_struct && element->lanes * size_of(element->type) > 16) return std::nullopt;
      if (element) {
        std::vector<spec::FieldSpec> behind_byte(2);  // the second is where its alignment puts it
        behind_byte[0].dtype = DType::u8;
        behind_byte[1].name = field.name;
        behind_byte[1].dtype = element->type;
        behind_byte[1].lanes = static_cast<std::uint32_t>(element->lanes);
        behind_byte[1].count = field.count;
        spec::place_fields(behind_byte);
        one = {{behind_byte[1]}, behind_byte[1].bytes(), behind_byte[1].at_byte};
        one.fields[0].at_byte = 0;
      } else {
        const auto inner = nested && depth < max_depth ? layout_of(types, *nested, true, depth + 1) : std::nullopt;
        if (!inner || field.count * inner->fields.size() > max_fields) return std::nullopt;
        one = *inner;
      }
      all.alignment = std::max(all.alignment, one.alignment);
      for (std::uint64_t i = 0; i < (element ? 1 : field.count); ++i) {
        all.bytes = aligned(all.bytes, one.alignment);
        for (spec::FieldSpec each : one.fields) {
          each.at_byte += all.bytes;
          all.fields.push_back(std::move(each));
        }
        all.bytes += one.bytes;
      }
      if (all.fields.size() > max_fields) return std::nullopt;
    }
    all.bytes = aligned(all.bytes, all.alignment);
    return all;
  }

  /// A vector or struct, as far as the source shows its layout.
  void check_value(const FoundKernel& kernel, std::size_t number, const TypeNames& types,
                   const spec::ArgSpec& given) const {
    const FunctionArgument& declared = kernel.function.arguments[number];
    const auto type = types.element_type(declared.type);
    const std::vector<StructField>* const known = type ? nullptr : types.fields_of(declared.type);
    if (!known && !(type && (type->lanes > 1 || given.kind == spec::ArgKind::structure))) return;
    const std::optional<Layout> layout =
        layout_of(types, known ? *known : std::vector<StructField>{{"", declared.type, 0, 1}}, known != nullptr);
    if (!layout) return;
    const auto& [fields, bytes, alignment] = *layout;
    std::vector<std::string> names;
    for (const spec::FieldSpec& each : fields) names.push_back(each.name);
    const bool same_size = given.kind == spec::ArgKind::structure && given.value_bytes == bytes;
    std::string differs;
    if (known && (!same_size || given.fields.size() == fields.size()))
      for (std::size_t i = 0; i < std::min(fields.size(), given.fields.size()) && differs.empty(); ++i)
        differs = difference(i, fields[i], names, given.fields[i]);
    else if (known)  // other fields may make the same struct, and some may be padding
      for (const spec::FieldSpec& own : given.fields) {
        const auto i = static_cast<std::size_t>(std::ranges::find(names, own.name) - names.begin());
        if (differs.empty() && std::ranges::count(names, own.name) == 1 && own.at_byte != fields[i].at_byte)
          differs = difference(i, fields[i], names, own);
      }
    if (same_size && differs.empty()) return;
    throw spec::spec_error(
        spec_, given.at,
        fmt::format("argument {} of {} is {} ({}), a {} of {} bytes{}, and the spec's '{}' has {} bytes{}", number + 1,
                    kernel.function.name, text_of(declared), kernel.place, known ? "struct" : "value", bytes,
                    known ? fmt::format(" ({})", fmt::join(names, ", ")) : "", given.name, given.bytes_by_value(),
                    !differs.empty() ? differs
                    : given.kind == spec::ArgKind::scalar && type
                        ? fmt::format(". Give it dtype = \"{}x{}\"", to_string(type->type), type->lanes)
                        : ""));
  }

  /// Of a field of the source's struct and the spec's at the same place; empty: none. Names that the struct does not
  /// have are the user's own.
  static std::string difference(std::size_t i, const spec::FieldSpec& declared, const std::vector<std::string>& names,
                                const spec::FieldSpec& own) {
    if (own.at_byte != declared.at_byte || own.bytes() != declared.bytes())
      return fmt::format(". Field {}, '{}', is at byte {} and has {}; the spec's '{}' at {}, {}", i + 1, names[i],
                         declared.at_byte, declared.bytes(), own.name, own.at_byte, own.bytes());
    const auto namesake = std::ranges::find(names, own.name);
    if (own.name != names[i] && namesake != names.end())
      return fmt::format(". Field {} is '{}', and the spec's is '{}', which is field {} of the struct", i + 1, names[i],
                         own.name, namesake - names.begin() + 1);
    const DType given = own.of.empty() ? own.dtype : DType::u64;
    if (given == declared.dtype || size_of(given) == 1 || fits(declared.dtype, given, false)) return {};
    return fmt::format(". Field {}, '{}', is of {}, and the spec's of {}", i + 1, names[i], to_string(declared.dtype),
                       to_string(given));
  }

  const spec::Spec& spec_;
  std::map<const spec::ArgSpec*, std::pair<std::string, std::string>> read_only_;  ///< where, and how it is declared
  std::set<const spec::ArgSpec*> written_;                                         ///< some kernel may write it
};

}  // namespace

void check_signatures(const spec::Spec& spec) {
  if (spec.process || spec.kernel.source.empty() || spec.for_kokkos() || spec.replays()) return;
  SignatureCheck(spec).run();
}

}  // namespace xtune::init
