// The end of a text that grows.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace xtune::process {

/// Keeps the end of a text of any length. Does not own the text.
class Tail {
 public:
  Tail(std::string& text, std::size_t kept) : text_(text), kept_(kept) {}
  void append(std::string_view bytes) {
    text_.append(bytes);
    if (text_.size() > 2 * kept_) cut();
  }
  void cut() {
    if (text_.size() <= kept_) return;
    text_.erase(0, text_.size() - kept_);
    cut_ = true;
  }
  bool was_cut() const noexcept { return cut_; }

 private:
  std::string& text_;
  std::size_t kept_;
  bool cut_ = false;
};

}  // namespace xtune::process
