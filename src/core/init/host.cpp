// Host code is read as it stands: nothing is evaluated, and a function sees only its own variables.
#include "core/init/host.hpp"

#include <re2/re2.h>

#include <algorithm>

namespace xtune::init {

namespace {

/// The last word before template arguments that end at i, and these.
std::size_t name_before(const Tokens& tokens, std::size_t i, std::vector<Tokens>& templates) {
  if (!is_at(tokens, i, ">")) return i;
  int depth = 0;
  for (std::size_t at = i; at > 0; --at) {
    depth += tokens[at].is(">") - tokens[at].is("<");
    if (depth != 0) continue;
    templates = split_arguments(part(tokens, at + 1, i));
    return at - 1;
  }
  return i;
}

std::size_t statement_end(const Tokens& tokens, std::size_t i) {
  for (; i < tokens.size() && !tokens[i].is(";"); ++i) {
    if (tokens[i].is("{")) return closing(tokens, i);
    if (tokens[i].is("(")) i = std::min(closing(tokens, i), tokens.size() - 1);
  }
  return i;
}

/// Whether <<= or >>= begins there, which are two tokens.
bool is_shifted_at(const Tokens& tokens, std::size_t i) {
  const std::string text = i + 1 < tokens.size() ? tokens[i].text + tokens[i + 1].text : "";
  return text == "<<=" || text == ">>=";
}

LaunchLoop loop_of(const Tokens& tokens, std::size_t at, std::size_t open) {
  LaunchLoop loop{at, tokens[at].line, "", {}, {}, {}};
  loop.is_condition = RE2::FullMatch(tokens[at].text, "if|else|switch");
  if (!tokens[at].is("for")) return loop;
  const auto parts = operands(part(tokens, open + 1, closing(tokens, open)), ";");
  if (parts.size() != 3) return loop;
  const Tokens &first = parts[0].second, &test = parts[1].second, &next = parts[2].second;
  const auto set = std::ranges::find_if(first, [](const Token& each) { return each.is("="); });
  if (set == first.begin() || set == first.end() || test.size() < 3 || next.size() < 2) return loop;
  const std::string index = (set - 1)->text, compared = test[1].text;
  const bool counts = test[0].is(index) && (compared == "<" || compared == "<=" || compared == "!=");
  const bool by_one = next.size() == 2 && mentions(next, "++") && mentions(next, index);
  const bool by_step = next.size() > 2 && next[0].is(index) && next[1].is("+=");
  if (!counts || !(by_one || by_step)) return loop;
  loop.index = index;
  loop.begin = Tokens(set + 1, first.end());
  loop.end = part(test, 2, test.size());
  loop.closed = compared == "<=";
  loop.step = by_one ? Tokens{{Token::Kind::number, "1"}} : part(next, 2, next.size());
  return loop;
}

}  // namespace

std::string pointer_text(Tokens tokens) {
  for (std::size_t before = 0; before != tokens.size();) {
    before = tokens.size();
    tokens = unwrapped(std::move(tokens));
    if (tokens.empty()) break;
    if (tokens.front().is("&")) tokens.erase(tokens.begin());
    const bool cast = !tokens.empty() && tokens.front().text.ends_with("_cast") && is_at(tokens, 1, "<");
    const std::size_t end = cast || is_at(tokens, 0, "(") ? closing(tokens, cast ? 1 : 0) : tokens.size();
    if (end + 1 < tokens.size() && (cast || tokens[end - 1].is("*"))) tokens = part(tokens, end + 1, tokens.size());
  }
  return text_of(tokens);
}

HostCode::HostCode(const TokenizedSource& source, const std::vector<KernelFunction>& kernels) {
  std::copy_if(source.tokens.begin(), source.tokens.end(), std::back_inserter(tokens_),
               [](const Token& token) { return !token.alternative; });
  for (const Directive& directive : source.directives) {
    const Tokens tokens = directive.name == "define" ? tokens_of(directive.text) : Tokens();
    if (tokens.size() < 2) continue;
    if (directive.text[tokens.front().text.size()] != '(') {
      add_constant(tokens.front().text, part(tokens, 1, tokens.size()));
      continue;
    }
    const std::size_t end = closing(tokens, 1);
    Formula formula{{}, part(tokens, end + 1, tokens.size())};
    for (const Tokens& each : split_arguments(part(tokens, 2, end))) formula.parameters.push_back(text_of(each));
    formulas_.try_emplace(tokens.front().text, std::move(formula));
  }
  find_functions();
  std::set<std::string> names;
  for (const KernelFunction& kernel : kernels) names.insert(kernel.name);
  find_memory();
  find_launches(names);
  find_launching();
}

void HostCode::add_constant(const std::string& name, const Tokens& value) {
  if (const auto [known, is_new] = constants_.try_emplace(name, simplified(value, false)); !is_new)
    known->second.clear();
}

/// constexpr int A = 1, B = 2
void HostCode::find_constants(std::size_t begin, std::size_t end) {
  const Tokens statement = part(tokens_, begin, end);
  if (!mentions(statement, "const") && !mentions(statement, "constexpr")) return;
  for (const Tokens& each : split_arguments(statement))
    if (const auto parts = operands(each, "="); parts.size() == 2 && parts.front().second.back().is_word())
      add_constant(parts.front().second.back().text, parts.back().second);
}

void HostCode::find_launching() {
  for (const Launch& launch : launches_) launching_.insert(function_name(launch.function));
  for (std::size_t before = std::string::npos; before != launching_.size();) {
    before = launching_.size();
    for (const Function& each : functions_)
      for (std::size_t i = each.begin; i < each.end; ++i)
        if ((tokens_[i].is("<<") && is_at(tokens_, i + 1, "<")) ||
            (launching_.contains(tokens_[i].text) && is_at(tokens_, i + 1, "(")))
          launching_.insert(tokens_[each.name].text);
  }
}

void HostCode::find_functions() {
  static const RE2 behind_arguments("\\)|const|noexcept|override|final");
  std::size_t statement = 0, arguments = 0;
  for (std::size_t i = 1; i < tokens_.size(); ++i) {
    if (tokens_[i].is(";")) find_constants(statement, i);
    if (tokens_[i].is(";") || tokens_[i].is("}")) statement = i + 1;
    if (tokens_[i].is("(")) {
      arguments = i;
      i = std::min(closing(tokens_, i), tokens_.size() - 1);
    }
    if (!tokens_[i].is("{")) continue;
    const std::size_t end = closing(tokens_, i);
    if (RE2::FullMatch(tokens_[i - 1].text, behind_arguments) && arguments > statement) {
      functions_.push_back({arguments - 1, arguments, end});
      const Tokens body = part(tokens_, i + 1, end);
      const std::size_t close = closing(tokens_, arguments);
      if (body.size() > 2 && body.front().is("return") && statement_end(body, 0) + 1 == body.size()) {
        Formula formula{{}, part(body, 1, body.size() - 1)};
        for (const Tokens& each : split_arguments(part(tokens_, arguments + 1, close)))
          if (!each.empty()) formula.parameters.push_back(each.back().text);
        formulas_.try_emplace(tokens_[arguments - 1].text, std::move(formula));
      }
    } else if (!is_at(tokens_, i - 1, "=") && !mentions(part(tokens_, statement, i), "enum")) {
      statement = i + 1;  // of a namespace or class
      continue;
    }
    i = std::min(end, tokens_.size() - 1);
    statement = i + 1;
  }
}

std::string HostCode::function_name(std::size_t function) const {
  return function < functions_.size() ? tokens_[functions_[function].name].text : "";
}

std::vector<LaunchLoop> HostCode::loops_around(std::size_t at, const Function& function) const {
  std::vector<LaunchLoop> loops;
  for (std::size_t i = function.begin; i < at; ++i) {
    if (!RE2::FullMatch(tokens_[i].text, "for|while|do|if|else|switch")) continue;
    const bool has_header = is_at(tokens_, i + 1, "(");
    const std::size_t header = has_header ? closing(tokens_, i + 1) : i;
    const std::size_t end = statement_end(tokens_, header + 1);
    if (header >= at || end <= at) continue;
    LaunchLoop& loop = loops.emplace_back(loop_of(tokens_, i, i + 1));
    for (std::size_t j = header + 1; j < std::min(end, tokens_.size()); ++j) {
      const auto is_step = [&](std::size_t step) { return is_at(tokens_, step, "++") || is_at(tokens_, step, "--"); };
      const bool set = j + 1 < tokens_.size() &&
                       (RE2::FullMatch(tokens_[j + 1].text, "[-+*/%&|^]?=") || is_shifted_at(tokens_, j + 1));
      if (tokens_[j].is_word() && (set || is_step(j - 1) || is_step(j + 1)))
        loop.changed.try_emplace(tokens_[j].text, tokens_[j].line);
      if (loop.exit == 0 && RE2::FullMatch(tokens_[j].text, "break|continue|goto|return")) loop.exit = tokens_[j].line;
      if (tokens_[j].is("swap") && is_at(tokens_, j + 1, "("))
        for (const Tokens& each : split_arguments(part(tokens_, j + 2, closing(tokens_, j + 1))))
          loop.changed.try_emplace(pointer_text(each), tokens_[j].line);
    }
  }
  return loops;
}

std::size_t HostCode::uneven(const LaunchLoop& loop) const {
  if (loop.exit > 0) return loop.exit;
  for (const auto& [name, line] : loop.changed)
    if (name == loop.index || mentions(loop.end, name)) return line;
  for (const Launch& launch : launches_) {
    const auto own = std::ranges::find_if(launch.around, [&](const LaunchLoop& each) { return each.at == loop.at; });
    const auto condition =
        std::find_if(own, launch.around.end(), [](const LaunchLoop& each) { return each.is_condition; });
    if (condition != launch.around.end()) return condition->line;
  }
  return 0;
}

std::vector<std::pair<std::size_t, Tokens>> HostCode::other_work(const Launch* before, const Launch* after) const {
  static const RE2 memory("(?:cuda|hip)(?:Memcpy|Memset)\\w*");
  std::size_t from = before ? before->at + 1 : after->at;
  for (std::size_t i = 0; !before && i < after->around.size(); ++i)
    if (!after->around[i].is_condition) from = std::min(from, after->around[i].at);
  const std::size_t to = after ? after->at : functions_[before->function].end;
  const auto is_known = [&](std::size_t at) {
    return std::ranges::any_of(launches_, [&](const Launch& each) { return each.at == at; });
  };
  std::vector<std::pair<std::size_t, Tokens>> found;
  for (std::size_t i = from; i + 1 < std::min(to, tokens_.size()); ++i) {
    std::vector<Tokens> templates;
    const bool is_launch = tokens_[i].is("<<") && tokens_[i + 1].is("<"),
               is_copy = RE2::FullMatch(tokens_[i].text, memory);
    if (!is_launch && !(tokens_[i + 1].is("(") && (is_copy || launching_.contains(tokens_[i].text)))) continue;
    const std::size_t name = is_launch ? name_before(tokens_, i - 1, templates) : i;
    const Tokens call = part(tokens_, name, is_launch ? statement_end(tokens_, name) : closing(tokens_, i + 1) + 1);
    if (is_launch ? !is_known(name) : !is_copy || !RE2::PartialMatch(text_of(call), "ToHost|DtoH|FromSymbol"))
      found.emplace_back(tokens_[name].line, call);
  }
  return found;
}

std::map<std::string, Tokens> HostCode::definitions_at(const Launch& launch) const {
  std::map<std::string, Tokens> found;
  std::set<std::string> changed;
  bool declares_extents = false;  // dim3 grid(x), block(y);
  if (launch.function >= functions_.size()) return found;
  for (std::size_t i = functions_[launch.function].begin + 1; i < launch.at; ++i) {
    if (tokens_[i].is("dim3") || tokens_[i].is(";")) declares_extents = tokens_[i].is("dim3");
    if (!tokens_[i].is_word()) continue;
    const std::string& name = tokens_[i].text;
    std::size_t next = i + 1;
    while (is_at(tokens_, next, "[")) next = closing(tokens_, next) + 1;
    const bool is_listed = declares_extents && tokens_[i - 1].is(",");
    const bool is_typed =
        is_listed || (tokens_[i - 1].is_word() && !RE2::FullMatch(tokens_[i - 1].text, "return|else|new|case"));
    const bool is_member = tokens_[i - 1].is(".") || tokens_[i - 1].is("->");
    const bool is_shifted = is_shifted_at(tokens_, next);
    const bool is_written = tokens_[i - 1].is("&") && (tokens_[i - 2].is("(") || tokens_[i - 2].is(","));
    if (is_at(tokens_, next, "=") && is_member) {
      changed.insert(tokens_[i - 2].text);  // grid.x = 4
    } else if (is_at(tokens_, next, "=")) {
      // Which of two values it has is not known.
      if (const auto [made, is_new] = found.try_emplace(name, expression_at(tokens_, next + 1)); !is_new)
        changed.insert(name);
    } else if (is_typed && (is_at(tokens_, next, "(") || is_at(tokens_, next, "{"))) {
      found[name] = part(tokens_, next, closing(tokens_, next) + 1);  // dim3 grid(x, y)
      found[name].insert(found[name].begin(), is_listed ? Token{Token::Kind::word, "dim3"} : tokens_[i - 1]);
    } else if (is_shifted || is_written ||
               (next < tokens_.size() && (RE2::FullMatch(tokens_[next].text, "[-+*/%&|^]=|\\+\\+|--") ||
                                          tokens_[i - 1].is("++") || tokens_[i - 1].is("--")))) {
      changed.insert(name);
    }
  }
  for (auto& [name, tokens] : found) tokens = changed.contains(name) ? Tokens() : simplified(tokens, false);
  for (const std::string& name : changed) found[name];
  return found;
}

std::optional<FunctionArgument> HostCode::declared(const std::string& name, const Launch& launch,
                                                   std::size_t before) const {
  const Function& function = functions_[launch.function];
  const std::size_t arguments_end = closing(tokens_, function.begin);
  for (std::size_t i = function.begin + 1; i < launch.at && tokens_[i].begin < before; ++i) {
    // const float* w declares no variable `float`.
    if (!tokens_[i].is(name) || tokens_[i + 1].is_word() || RE2::FullMatch(tokens_[i + 1].text, "[*&<]|::")) continue;
    std::size_t own = i;
    while (RE2::FullMatch(tokens_[own - 1].text, "[*&]|__restrict__")) --own;
    std::size_t from = own;
    while (!RE2::FullMatch(tokens_[from - 1].text, i < arguments_end ? "[(,]" : "[;{}()]")) --from;
    Tokens type;
    for (std::size_t at = from; at < own; ++at) {
      if (!tokens_[at].is_word() && !RE2::FullMatch(tokens_[at].text, "::|[<>]")) {
        if (!type.empty() && !tokens_[at].is("*")) type.pop_back();  // int a = 1, b
        break;
      }
      type.push_back(tokens_[at]);
    }
    if (type.empty() || RE2::FullMatch(type.front().text, "return|else|delete|case|goto|throw")) continue;
    type.insert(type.end(), tokens_.begin() + static_cast<std::ptrdiff_t>(own),
                tokens_.begin() + static_cast<std::ptrdiff_t>(i) + 1);
    return argument_of(type);
  }
  return std::nullopt;
}

std::vector<std::string> HostCode::callable_types() const {
  std::vector<std::string> types;
  for (std::size_t i = 0; i + 2 < tokens_.size(); ++i) {
    if (!(tokens_[i].is("struct") || tokens_[i].is("class")) || !tokens_[i + 2].is("{")) continue;
    const Tokens body = part(tokens_, i + 3, closing(tokens_, i + 2));
    const auto call = std::ranges::find_if(body, [](const Token& each) { return each.is("operator"); });
    if (call != body.end() && call + 1 != body.end() && (call + 1)->is("(")) types.push_back(tokens_[i + 1].text);
  }
  return types;
}

std::vector<Tokens> HostCode::extents_of(Tokens tokens, const std::map<std::string, Tokens>& definitions) {
  tokens = unwrapped(std::move(tokens));
  if (tokens.size() == 1)
    if (const auto made = definitions.find(tokens.front().text);
        made != definitions.end() && !made->second.empty() &&
        (made->second.front().is("dim3") || made->second.front().is("{")))
      tokens = made->second;
  const std::size_t open = !tokens.empty() && tokens.front().is("dim3") ? 1 : 0;
  if ((is_at(tokens, open, "{") || (open == 1 && is_at(tokens, open, "("))) &&
      closing(tokens, open) + 1 == tokens.size()) {
    std::vector<Tokens> extents = split_arguments(part(tokens, open + 1, tokens.size() - 1));
    while (extents.size() > 1 && text_of(extents.back()) == "1") extents.pop_back();
    if (!extents.empty()) return extents;
  }
  return {tokens};
}

/// kernel<TILE><<<grid, block, shared>>>(arguments); at: of the "<<"
std::optional<Launch> HostCode::marked_launch(std::size_t at, const std::set<std::string>& kernels) const {
  Launch launch;
  launch.at = name_before(tokens_, at - 1, launch.templates);
  launch.kernel = tokens_[launch.at].text;
  std::size_t end = at + 2;
  for (int depth = 0; end < tokens_.size(); ++end) {
    depth += RE2::FullMatch(tokens_[end].text, "[({\\[]") - RE2::FullMatch(tokens_[end].text, "[)}\\]]");
    if (depth == 0 && tokens_[end].is(">") && is_at(tokens_, end + 1, ">") && is_at(tokens_, end + 2, ">")) break;
  }
  if (!kernels.contains(launch.kernel) || !is_at(tokens_, end + 3, "(")) return std::nullopt;
  std::vector<Tokens> settings = split_arguments(part(tokens_, at + 2, end));
  settings.resize(std::max<std::size_t>(settings.size(), 3));
  launch.grid = {settings[0]};
  launch.block = {settings[1]};
  launch.shared = settings[2];
  launch.arguments = split_arguments(part(tokens_, end + 4, closing(tokens_, end + 3)));
  return launch;
}

/// hipLaunchKernelGGL(kernel, grid, block, shared, stream, arguments...), cudaLaunchKernel(kernel, grid, block,
/// addresses, shared, stream)
std::optional<Launch> HostCode::called_launch(std::size_t at, const std::set<std::string>& kernels) const {
  std::vector<Tokens> given = split_arguments(part(tokens_, at + 2, closing(tokens_, at + 1)));
  if (given.size() < 4) return std::nullopt;
  Launch launch;
  launch.at = at;
  for (std::size_t i = 0; i < given[0].size(); ++i)
    if (kernels.contains(given[0][i].text)) {
      launch.kernel = given[0][i].text;
      if (is_at(given[0], i + 1, "<"))
        launch.templates = split_arguments(part(given[0], i + 2, closing(given[0], i + 1)));
    }
  if (launch.kernel.empty()) return std::nullopt;
  launch.grid = {given[1]};
  launch.block = {given[2]};
  if (tokens_[at].is("hipLaunchKernelGGL")) {
    launch.shared = given[3];
    if (given.size() > 5) launch.arguments.assign(given.begin() + 5, given.end());
    return launch;
  }
  launch.is_cooperative = tokens_[at].text.find("Cooperative") != std::string::npos;
  if (given.size() > 4) launch.shared = given[4];
  launch.arguments = {given[3]};  // completed where definitions are known
  return launch;
}

void HostCode::find_launches(const std::set<std::string>& kernels) {
  static const RE2 calls("hipLaunchKernelGGL|(?:cuda|hip)Launch(?:Cooperative)?Kernel");
  for (std::size_t i = 1; i + 1 < tokens_.size(); ++i) {
    const bool is_call = RE2::FullMatch(tokens_[i].text, calls) && tokens_[i + 1].is("(");
    if (!is_call && !(tokens_[i].is("<<") && tokens_[i + 1].is("<"))) continue;
    auto launch = is_call ? called_launch(i, kernels) : marked_launch(i, kernels);
    const auto function =
        std::ranges::find_if(functions_, [&](const Function& each) { return each.begin < i && i < each.end; });
    if (!launch || function == functions_.end()) continue;
    launch->line = tokens_[launch->at].line;
    launch->function = static_cast<std::size_t>(function - functions_.begin());
    launch->around = loops_around(launch->at, *function);
    const auto definitions = definitions_at(*launch);
    launch->grid = extents_of(launch->grid.front(), definitions);
    launch->block = extents_of(launch->block.front(), definitions);
    if (is_call && !tokens_[i].is("hipLaunchKernelGGL")) {
      const auto list = definitions.find(text_of(launch->arguments.front()));
      launch->arguments.clear();
      if (list != definitions.end() && is_at(list->second, 0, "{"))
        for (const Tokens& each : split_arguments(part(list->second, 1, list->second.size() - 1)))
          launch->arguments.push_back(tokens_of(pointer_text(each)));
    }
    launches_.push_back(std::move(*launch));
  }
}

void HostCode::find_memory() {
  static const RE2 calls("(?:cuda|hip)(Malloc|Memset|Memcpy)(?:Managed|Async)?");
  std::string what;
  for (std::size_t i = 0; i + 1 < tokens_.size(); ++i) {
    if (!RE2::FullMatch(tokens_[i].text, calls, &what) || !tokens_[i + 1].is("(")) continue;
    const std::vector<Tokens> given = split_arguments(part(tokens_, i + 2, closing(tokens_, i + 1)));
    if (given.size() < 2) continue;
    MemoryUse use{MemoryUse::Kind::allocated, pointer_text(given[0]), given[1], i, tokens_[i].line};
    if (what != "Malloc" && given.size() < 3) continue;
    if (what == "Memset") use.kind = MemoryUse::Kind::zeroed;
    if (what == "Memset" && text_of(given[1]) != "0") continue;
    if (what == "Memcpy") {
      const bool back = given.size() > 3 && text_of(given[3]).find("DeviceToHost") != std::string::npos;
      use.kind = back ? MemoryUse::Kind::to_host : MemoryUse::Kind::to_device;
      if (back) use.pointer = pointer_text(given[1]);
    }
    memory_.push_back(std::move(use));
  }
}

std::vector<MemoryUse> HostCode::memory_of(const std::string& pointer, const Launch& launch) const {
  const Function& function = functions_[launch.function];
  std::vector<MemoryUse> uses;
  std::copy_if(memory_.begin(), memory_.end(), std::back_inserter(uses), [&](const MemoryUse& use) {
    return use.pointer == pointer && function.begin < use.at && use.at < function.end;
  });
  return uses;
}

bool HostCode::copies_back(const Launch& launch) const {
  const Function& function = functions_[launch.function];
  return std::ranges::any_of(memory_, [&](const MemoryUse& use) {
    return use.kind == MemoryUse::Kind::to_host && function.begin < use.at && use.at < function.end;
  });
}

}  // namespace xtune::init
