#include "core/init/body.hpp"

#include <re2/re2.h>

#include <algorithm>

#include "core/init/macros.hpp"

namespace xtune::init {

namespace {

using Words = std::set<std::string>;

bool is_at(const Tokens& tokens, std::size_t i, std::string_view text) {
  return i < tokens.size() && tokens[i].is(text);
}

bool is_assignment(const Token& token) {
  static const RE2 form("[^=!<>]?=");
  return RE2::FullMatch(token.text, form);
}

/// Without static_cast<...> and members: blockIdx.x is one word, p.x and p->x are p.
Tokens simplified(const Tokens& body) {
  static const RE2 index("(?:thread|block)Idx|blockDim");
  Tokens rest;
  for (std::size_t i = 0; i < body.size(); ++i) {
    if (body[i].text.ends_with("_cast") && is_at(body, i + 1, "<")) {
      i = closing(body, i + 1);
    } else if ((body[i].is(".") || body[i].is("->")) && i + 1 < body.size() && body[i + 1].is_word() && !rest.empty()) {
      ++i;
      if (RE2::FullMatch(rest.back().text, index)) rest.back().text += "." + body[i].text;
    } else {
      rest.push_back(body[i]);
    }
  }
  return rest;
}

/// From i to the end of the expression: ; or , or what closes a bracket that was opened before.
Tokens expression_at(const Tokens& tokens, std::size_t i) {
  int depth = 0;
  std::size_t end = i;
  for (; end < tokens.size(); ++end) {
    const std::string& text = tokens[end].text;
    if (text == "(" || text == "[" || text == "{") ++depth;
    if ((text == ")" || text == "]" || text == "}") && --depth < 0) break;
    if (depth == 0 && (text == ";" || text == ",")) break;
  }
  return part(tokens, i, end);
}

/// What the values of a body's names come from.
struct Origins {
  const Words& sizes;
  const Words& pointers;
  std::map<std::string, Words> definitions;  ///< name -> words that it is made of
  std::map<std::string, Words> limits;       ///< name -> sizes that it is compared with

  /// The words of an expression, "/" and "%", and "*" where a size is a factor beside something that is not a number.
  Words words_of(const Tokens& tokens) const {
    const auto counts = [&](std::size_t at) {
      return at < tokens.size() && (tokens[at].is_word() || tokens[at].is("(") || tokens[at].is(")"));
    };
    Words words;
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      if (tokens[i].is_word() || tokens[i].is("/") || tokens[i].is("%")) words.insert(tokens[i].text);
      if (sizes.contains(tokens[i].text) &&
          ((is_at(tokens, i - 1, "*") && counts(i - 2)) || (is_at(tokens, i + 1, "*") && counts(i + 2))))
        words.insert("*");
    }
    return words;
  }

  /// The sizes, pointers, axes of blockIdx and factors that words come from. A name that sizes limit comes from these.
  void add(const Words& words, Words& found, Words& seen) const {
    for (const std::string& word : words) {
      if (sizes.contains(word) || pointers.contains(word) || word == "*" || word.starts_with("blockIdx."))
        found.insert(word);
      if (sizes.contains(word) || !seen.insert(word).second) continue;
      if (const auto limit = limits.find(word); limit != limits.end())
        found.insert(limit->second.begin(), limit->second.end());
      else if (const auto made = definitions.find(word); made != definitions.end())
        add(made->second, found, seen);
    }
  }

  Words of(const Words& words) const {
    Words found, seen;
    add(words, found, seen);
    return found;
  }

  bool is_made_of(const std::string& name, const std::string& word, int steps) const {
    const auto made = definitions.find(name);
    if (name == word || steps == 0 || made == definitions.end()) return name == word;
    return std::any_of(made->second.begin(), made->second.end(),
                       [&](const std::string& each) { return is_made_of(each, word, steps - 1); });
  }
};

/// The words beside the comparison at i. step: -1, those before it; 1, those behind it.
Words side_of(const Tokens& tokens, std::size_t i, int step) {
  static const RE2 ends("&&|\\|\\||[;{},?:=<>]|[<>]=|return"), opens("[(\\[]"), closes("[)\\]]");
  Words words;
  int depth = 0;
  for (i += static_cast<std::size_t>(step); i < tokens.size(); i += static_cast<std::size_t>(step)) {
    const std::string& text = tokens[i].text;
    depth += step * (RE2::FullMatch(text, opens) - RE2::FullMatch(text, closes));
    if (depth < 0 || (depth == 0 && RE2::FullMatch(text, ends))) break;
    if (tokens[i].is_word()) words.insert(text);
  }
  return words;
}

Origins origins_of(const Tokens& tokens, const Words& sizes, const Words& pointers) {
  static const RE2 comparison("[<>]=?|[!=]=");
  Origins origins{sizes, pointers, {}, {}};
  for (std::size_t i = 1; i + 1 < tokens.size(); ++i) {
    const bool constructed = tokens[i].is("(") && i > 1 && tokens[i - 2].is("int");
    if (tokens[i - 1].is_word() && (constructed || is_assignment(tokens[i])))
      origins.definitions[tokens[i - 1].text].merge(origins.words_of(expression_at(tokens, i + 1)));
  }
  std::map<std::string, Words> limits;
  for (std::size_t i = 1; i + 1 < tokens.size(); ++i) {
    if (!RE2::FullMatch(tokens[i].text, comparison)) continue;
    for (const int step : {-1, 1}) {
      Words limit = origins.of(side_of(tokens, i, step));
      std::erase_if(limit, [&](const std::string& word) { return !sizes.contains(word); });
      if (limit.empty()) continue;
      for (const std::string& name : side_of(tokens, i, -step)) limits[name].insert(limit.begin(), limit.end());
    }
  }
  origins.limits = std::move(limits);
  return origins;
}

/// Pointers, and the variables that are made of them: float* row = x + i * n is an alias of x.
std::map<std::string, std::string> aliases_in(const Tokens& tokens, const Words& pointers) {
  std::map<std::string, std::string> aliases;
  for (const std::string& pointer : pointers) aliases[pointer] = pointer;
  for (std::size_t i = 2; i + 1 < tokens.size(); ++i) {
    if (!tokens[i].is_word() || !tokens[i + 1].is("=") || aliases.contains(tokens[i].text)) continue;
    if (!RE2::FullMatch(tokens[i - 1].text, "\\*|__restrict__|auto|const")) continue;
    const Tokens value = expression_at(tokens, i + 2);
    for (std::size_t at = 0; at < value.size(); ++at)
      if (aliases.contains(value[at].text) && (!is_at(value, at + 1, "[") || (at > 0 && value[at - 1].is("&")))) {
        aliases[tokens[i].text] = aliases[value[at].text];
        break;
      }
  }
  return aliases;
}

/// Notes the use of a pointer at i, and returns the words of its index.
Words note_use(const Tokens& tokens, std::size_t i, const Origins& origins, PointerUse& use) {
  const bool dereferenced =
      i > 1 && tokens[i - 1].is("*") && !tokens[i - 2].is_word() && !tokens[i - 2].is(")") && !tokens[i - 2].is("]");
  if (!is_at(tokens, i + 1, "[") && !dereferenced) {  // it is passed to a function, which may do anything with it
    use.passed = use.read = use.written = true;
    return origins.words_of(expression_at(tokens, i));
  }
  const std::size_t end = is_at(tokens, i + 1, "[") ? closing(tokens, i + 1) : i;
  const bool set = end + 1 < tokens.size() && is_assignment(tokens[end + 1]);
  const bool changed = (set && !tokens[end + 1].is("=")) || is_at(tokens, end + 1, "+") ||
                       is_at(tokens, end + 1, "++") || is_at(tokens, end + 1, "--") || is_at(tokens, i - 1, "&") ||
                       is_at(tokens, i - 1, "++") || is_at(tokens, i - 1, "--");
  use.written = use.written || set || changed;
  use.read = use.read || !set || changed;
  return origins.words_of(part(tokens, i + 2, end));
}

void note_pointers(const Tokens& tokens, const Origins& origins, BodyUse& body) {
  const std::map<std::string, std::string> aliases = aliases_in(tokens, origins.pointers);
  std::map<std::string, Words> words;
  std::size_t defined_until = 0;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const auto alias = aliases.find(tokens[i].text);
    if (alias == aliases.end()) continue;
    const auto& [name, pointer] = *alias;
    if (name != pointer) words[pointer].insert(name);
    if (name != pointer && is_at(tokens, i + 1, "=")) defined_until = i + 2 + expression_at(tokens, i + 2).size();
    if (i >= defined_until) words[pointer].merge(note_use(tokens, i, origins, body.pointers[pointer]));
  }
  for (auto& [pointer, use] : body.pointers) {
    use.only_first = (use.read || use.written) && !use.passed && words[pointer].empty();
    for (const std::string& word : origins.of(words[pointer])) {
      use.rows = use.rows || word == "*";
      use.data = use.data || (origins.pointers.contains(word) && word != pointer);
      if (origins.sizes.contains(word)) use.sizes.insert(word);
      if (word.starts_with("blockIdx.")) use.blocks.insert(static_cast<std::size_t>(word.back() - 'x'));
    }
  }
}

/// The factors of blockIdx.x at i: (blockIdx.x * BLOCK + threadIdx.x) * PER_THREAD has two.
std::vector<Tokens> tile_at(const Tokens& tokens, std::size_t i) {
  const auto factor = [&](std::size_t at) {
    return part(tokens, at, is_at(tokens, at, "(") ? closing(tokens, at) + 1 : at + 1);
  };
  std::vector<Tokens> tile;
  std::size_t before = i - 2;
  if (is_at(tokens, i - 1, "*") && is_at(tokens, before, ")"))
    while (before > 0 && !(tokens[before].is("(") && closing(tokens, before) == i - 2)) --before;
  if (is_at(tokens, i - 1, "*")) tile.push_back(factor(before));
  for (std::size_t at = i + 1; is_at(tokens, at, "*"); at += 1 + tile.back().size()) tile.push_back(factor(at + 1));
  int depth = 0;
  for (std::size_t at = i + 1; at < tokens.size() && !RE2::FullMatch(tokens[at].text, "[;,{]"); ++at) {
    depth += (tokens[at].is("(") || tokens[at].is("[")) - (tokens[at].is(")") || tokens[at].is("]"));
    if (depth >= 0) continue;
    if (tokens[at].is("]")) break;
    depth = 0;
    if (is_at(tokens, at + 1, "*") && at + 2 < tokens.size() && tokens[at + 2].is_word())
      tile.push_back(factor(at + 2));
  }
  return tile;
}

void note_axis(const Tokens& tokens, const Origins& origins, const std::string& axis, AxisUse& use) {
  const std::string block = "blockIdx." + axis, thread = "threadIdx." + axis;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    use.block_size = use.block_size || tokens[i].is("blockDim." + axis);
    if (tokens[i].is(thread)) {
      use.thread = true;
      std::size_t factor = i - 2;  // the first one behind blockIdx or a bracket
      while (is_at(tokens, factor - 1, "*") && is_at(tokens, factor - 3, "*")) factor -= 2;
      const bool begins_block = is_at(tokens, factor - 1, "*") && is_at(tokens, i - 1, "+") && factor > 1 &&
                                (tokens[factor - 2].is(")") || tokens[factor - 2].text.starts_with("blockIdx."));
      if (begins_block) use.threads = {tokens[factor]};
    }
    if (tokens[i].is("+=") && i > 0 && use.threads.empty()) {
      const auto made = origins.definitions.find(tokens[i - 1].text);
      const auto is_made_of = [&](const std::string& word) { return made->second.contains(word); };
      if (made != origins.definitions.end() && is_made_of(thread) && !is_made_of(block) && !is_made_of("/") &&
          !is_made_of("%"))
        use.threads = expression_at(tokens, i + 1);
    }
    if (!tokens[i].is(block)) continue;
    use.block = true;
    if (use.tile.empty()) use.tile = tile_at(tokens, i);
  }
  // What is made of blockIdx itself, before what is made of that.
  for (int steps = 0; steps <= 3; ++steps)
    for (const auto& [name, limit] : origins.limits)
      if (use.sizes.empty() && origins.is_made_of(name, block, steps)) use.sizes = limit;
}

std::string shared_type(const Tokens& tokens) {
  for (std::size_t i = 1; i < tokens.size(); ++i) {
    if (!tokens[i].is("__shared__") || !tokens[i - 1].is("extern")) continue;
    Tokens type;
    for (++i; i + 1 < tokens.size() && !tokens[i + 1].is("[") && !tokens[i].is(";"); ++i)
      if (tokens[i].is("__align__") || tokens[i].is("alignas"))
        i = std::min(closing(tokens, i + 1), tokens.size() - 1);
      else
        type.push_back(tokens[i]);
    return text_of(type);
  }
  return "";
}

}  // namespace

BodyUse body_use(const Tokens& body, const std::set<std::string>& sizes, const std::set<std::string>& pointers) {
  const Tokens tokens = simplified(body);
  const Origins origins = origins_of(tokens, sizes, pointers);
  BodyUse use;
  for (const std::string& pointer : pointers) use.pointers[pointer];
  note_pointers(tokens, origins, use);
  for (std::size_t axis = 0; axis < 3; ++axis) note_axis(tokens, origins, std::string(1, "xyz"[axis]), use.axes[axis]);
  for (std::size_t i = 1; i + 2 < tokens.size(); ++i)
    if (tokens[i].is("+=") && tokens[i + 1].is_word() && (tokens[i + 2].is(")") || tokens[i + 2].is(";")))
      use.strides.insert(tokens[i + 1].text);
  use.shared_type = shared_type(tokens);
  return use;
}

std::optional<std::string> SpecExpressions::operand(const std::string& name, int depth) const {
  if (const auto known = names_.find(name); known != names_.end()) return known->second;
  const auto stands_for = expressions_->find(name);
  if (stands_for == expressions_->end() || depth > 8) return std::nullopt;
  return text_of(stands_for->second, depth + 1);
}

std::optional<std::string> SpecExpressions::text_of(const Tokens& tokens, int depth) const {
  constexpr std::size_t longest = 500;  // characters; a longer expression is of no help
  if (tokens.empty()) return std::nullopt;
  if (tokens.front().is("(") && closing(tokens, 0) + 1 == tokens.size())
    return text_of(part(tokens, 1, tokens.size() - 1), depth);
  std::string text;
  for (const Token& token : tokens) {
    std::optional<std::string> part_text;
    if (token.kind == Token::Kind::number) {
      if (const auto value = integer_of(token.text)) part_text = std::to_string(*value);
    } else if (token.is_word()) {
      part_text = operand(token.text, depth);
      if (part_text && tokens.size() > 1 && part_text->find(' ') != std::string::npos)
        part_text = "(" + *part_text + ")";
    } else if (RE2::FullMatch(token.text, "[-+*%]")) {
      part_text = " " + token.text + " ";
    } else if (token.is("/")) {
      part_text = " // ";  // an integer division
    } else if (token.is("(") || token.is(")")) {
      part_text = token.text;
    }
    if (!part_text || text.size() > longest) return std::nullopt;
    text += *part_text;
  }
  return text;
}

}  // namespace xtune::init
