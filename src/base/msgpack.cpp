// The depth is checked by a first pass, which builds nothing and does not recurse.
#include "base/msgpack.hpp"

#include <string>

namespace xtune::base {
namespace {

using nlohmann::json;

class DepthCheck final : public nlohmann::json_sax<json> {
 public:
  explicit DepthCheck(std::size_t deepest) : left_(deepest) {}
  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(std::int64_t) override { return true; }
  bool number_unsigned(std::uint64_t) override { return true; }
  bool number_float(double, const std::string&) override { return true; }
  bool string(std::string&) override { return true; }
  bool binary(json::binary_t&) override { return true; }
  bool key(std::string&) override { return true; }
  bool start_object(std::size_t) override { return left_ > 0 && left_-- > 0; }
  bool start_array(std::size_t) override { return left_ > 0 && left_-- > 0; }
  bool end_object() override { return ++left_ > 0; }
  bool end_array() override { return ++left_ > 0; }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception&) override { return false; }

 private:
  std::size_t left_;
};

}  // namespace

std::optional<json> parse_msgpack(std::string_view bytes, std::size_t deepest) {
  DepthCheck check(deepest);
  if (!json::sax_parse(bytes.begin(), bytes.end(), &check, json::input_format_t::msgpack)) return std::nullopt;
  return json::from_msgpack(bytes.begin(), bytes.end(), true, false);
}

}  // namespace xtune::base
