// One declaration at a time: finds its first word and its semicolon, then changes the text between them.
#include "backends/host/shared_variables.hpp"

#include <string>
#include <vector>

namespace xtune::host {
namespace {

bool is_specifier(std::string_view word) {
  return word == "static" || word == "extern" || word == "const" || word == "volatile" || word == "inline";
}

class SharedDeclaration {
 public:
  SharedDeclaration(TokenEdits& text, std::size_t i, const SharedPlace& place)
      : text_(text), place_(place), i_(i), first_(i) {}

  std::size_t run() {
    if (!find()) return i_;
    if (is_extern_) {
      dynamic_shared();
      return end_;
    }
    if (!place_.sanitize || !guarded_shared()) static_shared();
    return i_;
  }

 private:
  /// Finds the range from the first specifier before __shared__ to the semicolon.
  bool find() {
    while (first_ > 0) {
      const std::size_t before = first_ - 1;
      if (is_specifier(text_[before].text)) {
        note(before);
        first_ = before;
        continue;
      }
      if (!text_.is(before, ")")) break;
      const std::size_t open = text_.opening(before);
      if (open == 0 || !(text_.is(open - 1, "alignas") || text_.is(open - 1, "__attribute__"))) break;
      first_ = open - 1;
    }
    for (end_ = i_ + 1; end_ < text_.size() && !text_.is(end_, ";"); ++end_) {
      note(end_);
      if (text_.is(end_, "{") || text_.is(end_, "(")) end_ = text_.closing(end_);
    }
    return end_ < text_.size();
  }
  void note(std::size_t k) {
    is_extern_ = is_extern_ || text_.is(k, "extern");
    is_static_ = is_static_ || text_.is(k, "static");
  }

  /// alignas must precede the words that the declaration now begins with.
  void static_shared() {
    std::string hoisted;
    for (std::size_t k = i_ + 1; k < end_; ++k) {
      if (text_.is(k, "alignas")) {
        const std::size_t last = text_.end_of_call(k);
        for (std::size_t word = k; word <= last; ++word) hoisted += std::string(text_[word].text) + " ";
        text_.erase(k, last);
        k = last;
      } else if (text_.is(k, "__attribute__")) {
        k = text_.end_of_call(k);
      } else if (!is_specifier(text_[k].text)) {
        break;
      }
    }
    if (!hoisted.empty()) text_.insert_before(first_, hoisted);
    text_.replace(i_, std::string(is_static_ ? "" : "static ") + (place_.sanitize ? "" : "thread_local"));
  }

  /// __shared__ float a[4], b;  ->  typedef float xtune_shared_a[4], xtune_shared_b; static auto &a = .., &b = ..;
  /// Returns false, without changes, for declarators of an unsupported form.
  bool guarded_shared() {
    std::vector<std::size_t> names;
    bool named = false;  // the current declarator's name was read
    for (std::size_t k = i_ + 1; k <= end_; ++k) {
      if (text_.is(k, "<")) {
        k = text_.past_template(k, end_);
      } else if (text_.is(k, "(") || text_.is(k, "{")) {
        k = text_.closing(k);
      } else if (text_.is(k, "[") || text_.is(k, ",") || text_.is(k, ";")) {
        if (!named && !text_.is_identifier(k - 1)) return false;
        if (!named) names.push_back(k - 1);
        named = text_.is(k, "[");
        if (named) k = text_.closing(k);
      }
    }
    drop_specifiers();
    text_.replace(i_, "typedef");
    std::string references;
    for (const std::size_t name : names) {
      const std::string word(text_[name].text), type = "xtune_shared_" + word;
      references += (references.empty() ? " static auto &" : ", &") + word + " = xtune_guarded_shared<" + type + ">()";
      text_.replace(name, type);
    }
    text_.insert_before(end_, ";" + references);
    return true;
  }

  /// extern __shared__ float a[], b[][4];  ->  float (*const a) = .., (*const b)[4] = ..;
  void dynamic_shared() {
    drop_specifiers();
    text_.replace(i_, place_.at_namespace_scope ? "static thread_local" : "");
    for (std::size_t k = i_ + 1; k < end_; ++k) {
      if (text_.is(k, "<")) {
        k = text_.past_template(k, end_);
      } else if (text_.is(k, "(")) {
        k = text_.closing(k);
      } else if (text_.is(k, "[") && text_.is_identifier(k - 1)) {
        const std::size_t name = k - 1, bracket = text_.closing(k);
        text_.insert_before(name, "(*const ");
        text_.replace(k, ")");
        text_.erase(k + 1, bracket);
        k = bracket;
        while (k + 1 < end_ && text_.is(k + 1, "[")) k = text_.closing(k + 1);
        if (k + 1 <= end_) text_.insert_before(k + 1, " = XtuneDynamicShared()");
      }
    }
  }

  /// Removes specifiers that a typedef or a pointer cannot have. The memory is aligned for any type.
  void drop_specifiers() {
    for (std::size_t k = first_; k < end_; ++k) {
      if (text_.is(k, "alignas")) {
        const std::size_t last = text_.end_of_call(k);
        text_.erase(k, last);
        k = last;
      } else if (text_.is(k, "extern") || text_.is(k, "static") || text_.is(k, "inline")) {
        text_.replace(k, "");
      }
    }
  }

  TokenEdits& text_;
  SharedPlace place_;
  std::size_t i_, first_, end_ = 0;  ///< __shared__, the first word, the semicolon
  bool is_extern_ = false, is_static_ = false;
};

}  // namespace

std::size_t rewrite_shared(TokenEdits& text, std::size_t i, const SharedPlace& place) {
  return SharedDeclaration(text, i, place).run();
}

}  // namespace xtune::host
