// C++ macro replacement (C++17, 19.3) over sets: a name with several definitions gives several texts.
#include "core/build/include_names.hpp"

#include <algorithm>
#include <cctype>
#include <set>

#include "base/text.hpp"
#include "core/build/source_cursor.hpp"

namespace xtune::build {
namespace {

using Texts = std::set<std::string>;

// Real sources compute a name from a few macros; larger numbers are an attack or a library's counting trick.
constexpr std::size_t texts_limit = 256;
constexpr int nesting_limit = 32;

bool starts_word(char c) { return SourceCursor::is_word(c) && !std::isdigit(static_cast<unsigned char>(c)); }

std::string trimmed(std::string_view text) { return std::string(base::trimmed(text)); }

/// The end of the token at `at`: a word, a number, a literal, or one character.
std::size_t token_end(std::string_view text, std::size_t at) {
  std::size_t end = at + 1;
  if (SourceCursor::is_word(text[at])) {
    while (end < text.size() && SourceCursor::is_word(text[end])) ++end;
  } else if (text[at] == '"' || text[at] == '\'') {
    while (end < text.size() && text[end] != text[at]) end += text[end] == '\\' ? 2 : 1;
    end = std::min(end + 1, text.size());
  }
  return end;
}

std::size_t skip_spaces(std::string_view text, std::size_t at) {
  while (at < text.size() && std::isspace(static_cast<unsigned char>(text[at]))) ++at;
  return at;
}

std::string stringized(const std::string& argument) {
  std::string text = "\"";
  for (const char c : trimmed(argument)) {
    if (c == '"' || c == '\\') text += '\\';
    text += c;
  }
  return text + '"';
}

}  // namespace

class MacroDefinitions::Expansion {
 public:
  explicit Expansion(const MacroDefinitions& macros) : macros_(macros) {}
  bool complete = true;
  std::set<std::string> used;

  Texts expand(const std::string& text, const std::set<std::string>& hidden, int depth) {
    if (depth > nesting_limit || !afford(text.size() + hidden.size())) return cut(text);
    for (std::size_t at = 0; at < text.size(); at = token_end(text, at)) {
      if (!starts_word(text[at])) continue;
      const std::size_t end = token_end(text, at);
      const std::string name = text.substr(at, end - at);
      used.insert(name);
      const auto found = macros_.definitions_.find(name);
      if (found == macros_.definitions_.end()) {
        // The compiler's own macros (__CUDA_ARCH__, __FILE__) have no definition in the files that were read.
        if (name.starts_with("__")) complete = false;
        continue;
      }
      if (hidden.contains(name)) continue;
      std::set<std::string> inner = hidden;
      inner.insert(name);
      Texts whole;
      bool plain = false;
      for (const Definition& definition : found->second) {
        std::vector<std::string> arguments;
        std::size_t after = end;
        if (definition.takes_arguments && !take_arguments(text, after, arguments)) {
          plain = true;  // the name of such a macro without arguments is not replaced
          continue;
        }
        const Texts tails = expand(text.substr(after), hidden, depth + 1);
        for (const std::string& replaced : replace(definition, arguments, hidden, depth))
          for (const std::string& head : expand(replaced, inner, depth + 1))
            for (const std::string& tail : tails)
              if (!add(whole, text.substr(0, at) + head + tail)) return whole;
      }
      if (plain)
        for (const std::string& tail : expand(text.substr(end), hidden, depth + 1))
          add(whole, text.substr(0, end) + tail);
      return whole;
    }
    return {text};
  }

 private:
  Texts cut(const std::string& text) {
    complete = false;
    return {text};
  }

  /// Whether there is effort left for this many characters.
  bool afford(std::size_t characters) {
    const std::size_t cost = std::min(characters + 1, macros_.effort_left_);
    macros_.effort_left_ -= cost;
    return macros_.effort_left_ > 0;
  }

  /// Returns false if nothing more can be added.
  bool add(Texts& to, std::string text) {
    const bool possible = to.size() < texts_limit && afford(text.size());
    if (possible)
      to.insert(std::move(text));
    else
      complete = false;
    return possible;
  }

  /// "(a, (b, c))" after a name; false if there are none.
  static bool take_arguments(const std::string& text, std::size_t& at, std::vector<std::string>& arguments) {
    std::size_t i = skip_spaces(text, at);
    if (i >= text.size() || text[i] != '(') return false;
    int depth = 0;
    std::string argument;
    for (; i < text.size();) {
      const std::size_t end = token_end(text, i);
      const std::string token = text.substr(i, end - i);
      i = end;
      if (token == "(" && ++depth == 1) continue;
      if (token == ")" && --depth == 0) {
        arguments.push_back(trimmed(argument));
        at = i;
        return true;
      }
      if (token == "," && depth == 1) {
        arguments.push_back(trimmed(argument));
        argument.clear();
      } else {
        argument += token;
      }
    }
    return false;
  }

  Texts replace(const Definition& definition, const std::vector<std::string>& arguments,
                const std::set<std::string>& hidden, int depth) {
    Texts texts{""};
    const std::string& body = definition.body;
    for (std::size_t at = 0; at < body.size() && !texts.empty();) {
      const std::size_t end = token_end(body, at);
      const std::string token = body.substr(at, end - at);
      const std::size_t next = skip_spaces(body, end);
      const bool pasted = next + 1 < body.size() && body[next] == '#' && body[next + 1] == '#';
      if (token == "#" && end < body.size() && body[end] == '#') {
        Texts joined;
        for (const std::string& text : texts) joined.insert(text.substr(0, text.find_last_not_of(" \t") + 1));
        texts = std::move(joined);
        at = skip_spaces(body, end + 1);
        append(texts, argument_or(definition, arguments, body, at, true, hidden, depth));
      } else if (token == "#" && definition.takes_arguments) {
        at = next;
        const std::size_t word_end = at < body.size() ? token_end(body, at) : at;
        const auto place = place_of(definition, body.substr(at, word_end - at));
        append(texts, {place < arguments.size() ? stringized(arguments[place]) : std::string("#")});
        at = place < arguments.size() ? word_end : at;
      } else {
        append(texts, argument_or(definition, arguments, body, at, pasted, hidden, depth));
      }
    }
    return texts;
  }

  /// The token at `at`, or the argument that it names: unchanged if it is pasted, else expanded.
  Texts argument_or(const Definition& definition, const std::vector<std::string>& arguments, const std::string& body,
                    std::size_t& at, bool raw, const std::set<std::string>& hidden, int depth) {
    if (at >= body.size()) return {""};
    const std::size_t end = token_end(body, at);
    const std::string token = body.substr(at, end - at);
    at = end;
    const std::size_t place = place_of(definition, token);
    if (place >= definition.parameters.size()) return {token};
    std::string argument = place < arguments.size() ? arguments[place] : "";
    if (definition.parameters[place] == "__VA_ARGS__")
      for (std::size_t i = place + 1; i < arguments.size(); ++i) argument += "," + arguments[i];
    return raw ? Texts{argument} : expand(argument, hidden, depth + 1);
  }

  static std::size_t place_of(const Definition& definition, const std::string& token) {
    const auto& names = definition.parameters;
    return static_cast<std::size_t>(std::find(names.begin(), names.end(), token) - names.begin());
  }

  void append(Texts& texts, const Texts& tails) {
    Texts longer;
    for (const std::string& text : texts)
      for (const std::string& tail : tails)
        if (!add(longer, text + tail)) break;
    texts = std::move(longer);
  }

  const MacroDefinitions& macros_;
};

void MacroDefinitions::define(std::string_view text) {
  const std::size_t begin = skip_spaces(text, 0);
  if (begin >= text.size() || !starts_word(text[begin])) return;
  std::size_t at = token_end(text, begin);
  const std::string name(text.substr(begin, at - begin));
  Definition definition;
  if (at < text.size() && text[at] == '(') {
    const std::size_t close = text.find(')', at);
    if (close == std::string_view::npos) return;
    definition.takes_arguments = true;
    std::string_view list = text.substr(at + 1, close - at - 1);
    while (!list.empty()) {
      const std::size_t end = std::min(list.find(','), list.size());
      const std::string parameter = trimmed(list.substr(0, end));
      definition.parameters.push_back(parameter == "..." ? "__VA_ARGS__" : parameter);
      list.remove_prefix(std::min(end + 1, list.size()));
    }
    at = close + 1;
  }
  definition.body = trimmed(text.substr(at));
  auto& all = definitions_[name];
  const bool known = std::any_of(all.begin(), all.end(), [&](const Definition& other) {
    return other.takes_arguments == definition.takes_arguments && other.parameters == definition.parameters &&
           other.body == definition.body;
  });
  if (!known) all.push_back(std::move(definition));
}

MacroDefinitions::Names MacroDefinitions::names_of(const std::string& text) const {
  Names result;
  // #ifdef CONFIG_FILE, #include CONFIG_FILE: it is not defined. No compiler predefines a macro with a header's name.
  const std::string word = trimmed(text);
  result.used.insert(word);
  if (!definitions_.contains(word) && std::all_of(word.begin(), word.end(), SourceCursor::is_word)) return result;
  Expansion expansion(*this);
  std::set<std::pair<std::string, bool>> names;
  for (const std::string& expanded : expansion.expand(text, {}, 0)) {
    const std::string name = trimmed(expanded);
    const bool quoted = name.size() > 2 && name.front() == '"' && token_end(name, 0) == name.size();
    const bool angled = name.size() > 2 && name.front() == '<' && name.back() == '>';
    if (quoted || angled) {
      std::string inner = name.substr(1, name.size() - 2);
      names.emplace(inner, quoted);
      std::erase_if(inner, [](char c) { return std::isspace(static_cast<unsigned char>(c)); });
      if (angled) names.emplace(inner, false);
    } else if (std::any_of(name.begin(), name.end(), [](char c) { return !SourceCursor::is_word(c); })) {
      result.complete = false;
    }
  }
  result.complete = result.complete && expansion.complete;
  result.used.merge(expansion.used);
  for (const auto& [name, quoted] : names) result.names.push_back({name, quoted});
  return result;
}

}  // namespace xtune::build
