// Lists of the keys of a spec's sections. One list reads a section, names its unknown keys, sends it to workers, and
// writes it into measurement keys; the tables of docs/ are compared with it.
#pragma once

#include <fmt/core.h>

#include <array>
#include <concepts>
#include <limits>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/json_fields.hpp"
#include "core/spec/reader.hpp"

namespace xtune::spec {

/// Forms of values: read sets `value`, which may be a std::optional, or throws Error(invalid_spec). what: the key, for
/// errors. text: as in a measurement key.
namespace forms {

/// As the member's type says: a boolean, a text, the path of a file that exists, an expression, a table of expressions,
/// or a list of these.
struct ByType {
  template <class T>
  static void read(const Reader& reader, const TomlNode& node, const std::string& what, T& value) {
    if constexpr (std::same_as<T, std::vector<std::string>>)
      for (const TomlNode& item : reader.array(node, what).items) value.push_back(reader.text(item, what));
    else if constexpr (std::same_as<T, std::vector<std::pair<std::string, Text>>>)
      value = reader.named_texts(node, what);
    else if constexpr (std::same_as<T, bool>)
      value = reader.boolean(node, what);
    else if constexpr (std::same_as<T, std::string>)
      value = reader.text(node, what);
    else if constexpr (std::same_as<T, std::filesystem::path>)
      value = reader.existing_file(node, what);
    else if constexpr (std::same_as<T, std::vector<Text>>)
      value = reader.expressions(node, what);
    else
      value = reader.expression(node, what);
  }
};

/// A number within limits; a member of any integer type for integers.
template <class Limit>
struct Within {
  Limit least;
  Limit most = std::numeric_limits<Limit>::max();
  template <class T>
  void read(const Reader& reader, const TomlNode& node, const std::string& what, T& value) const {
    if constexpr (std::same_as<Limit, double>)
      value = reader.number(node, what, least, most);
    else if constexpr (base::fields::is_optional<T>)
      value = static_cast<typename T::value_type>(reader.integer(node, what, least, most));
    else
      value = static_cast<T>(reader.integer(node, what, least, most));
  }
  static std::string text(const auto& value) { return fmt::format("{}", value); }
};
using Integer = Within<std::int64_t>;
using Number = Within<double>;

/// One of the words of an enumeration; of a bool, the second one is true.
template <class Enum, std::size_t count>
struct Word {
  base::EnumWords<Enum, count> words;
  void read(const Reader& reader, const TomlNode& node, const std::string& what, Enum& value) const {
    value = reader.word(node, what, words);
  }
  std::string text(Enum value) const { return words.of(value); }
};
template <class Enum, std::size_t count>
Word(base::EnumWords<Enum, count>) -> Word<Enum, count>;

/// A text, or a list of texts, each with its place.
struct Texts {
  static void read(const Reader& reader, const TomlNode& node, const std::string& what, std::optional<Text>& text) {
    text = reader.placed_text(node, what);
  }
  static void read(const Reader& reader, const TomlNode& node, const std::string& what, std::vector<Text>& texts) {
    for (const TomlNode& item : reader.array(node, what).items) texts.push_back(reader.placed_text(item, what));
  }
};

/// The path of a directory that exists, or a list of them.
struct Directory {
  static void read(const Reader& reader, const TomlNode& node, const std::string& what, std::filesystem::path& value) {
    value = reader.existing_directory(node, what);
  }
  static void read(const Reader& reader, const TomlNode& node, const std::string& what,
                   std::vector<std::filesystem::path>& list) {
    for (const TomlNode& item : reader.array(node, what).items) list.push_back(reader.existing_directory(item, what));
  }
};

/// Names of arguments, as their numbers.
struct Arguments {
  static void read(const Reader& reader, const TomlNode& node, const std::string& what,
                   std::optional<std::vector<std::size_t>>& numbers) {
    numbers = read_argument_names(reader, node, what);
  }
};

/// The values of a configuration.
struct Configuration {
  static void read(const Reader& reader, const TomlNode& node, const std::string& what,
                   std::optional<Bindings>& config) {
    config = read_configuration(reader, node, what);
  }
};

/// A word, of those that a function returns.
struct Choice {
  std::vector<std::string> (*words)();
  void read(const Reader& reader, const TomlNode& node, const std::string& what, std::string& value) const {
    reader.choice(node, what, words());
    value = reader.text(node, what);
  }
};

/// Extents in x, y and z; a single one is x.
struct Extents {
  static void read(const Reader& reader, const TomlNode& node, const std::string& what, std::vector<Text>& value) {
    value = reader.expressions(node, what);
    if (value.empty() || value.size() > 3)
      reader.fail(node.at, what + " needs 1 to 3 entries, for x, y and z, got " + std::to_string(value.size()));
  }
};

}  // namespace forms

/// Who gets a key's value besides the spec: no other part, workers, or workers and measurement keys.
struct Kept {};
struct Sent {};
inline constexpr Sent sent;
struct SentAndKeyed {
  const char* label;            ///< before the value in a measurement key
  bool unless_default = false;  ///< the default is not in the measurement key
};
constexpr SentAndKeyed sent_and_keyed(const char* label) { return {label}; }
/// For keys that are newer than stored records, whose measurement keys stay as they are.
constexpr SentAndKeyed sent_and_keyed_unless_default(const char* label) { return {label, true}; }

/// A key of a structure's member. It is also a field of base::fields::Object: workers get it as JSON.
template <class Access, class Form, class Use>
struct Key : base::fields::Field<base::fields::Presence::required, Access, base::fields::Plain> {
  using Field = base::fields::Field<base::fields::Presence::required, Access, base::fields::Plain>;
  Form toml;
  Use use;
  const char* missing = nullptr;  ///< the error if the section lacks it; null: it is optional

  constexpr Key(const char* name, Access member, Form as, Use used, const char* if_missing = nullptr)
      : Field{name, member, {}}, toml(as), use(used), missing(if_missing) {}

  void add_names(std::vector<std::string>& names) const { names.emplace_back(this->key); }
  template <class T>
  void read_toml(const Reader& reader, const TomlNode& table, const std::string& prefix, T& object) const {
    const TomlNode* const node = table.find(this->key);
    if (node != nullptr)
      toml.read(reader, *node, prefix + this->key, std::invoke(this->access, object));
    else if (missing != nullptr)
      reader.fail(table.at, missing);
  }
  template <class Json, class T>
  void write(Json& json, const T& object) const {
    if constexpr (!std::same_as<Use, Kept>) Field::write(json, object);
  }
  template <class Json, class T>
  void read(const Json& json, T& object) const {
    if constexpr (!std::same_as<Use, Kept>) Field::read(json, object);
  }
  template <class T>
  void add_text(std::string& text, const T& object) const {
    if constexpr (std::same_as<Use, SentAndKeyed>) {
      static const T defaults{};
      const auto& value = std::invoke(this->access, object);
      if (!use.unless_default || value != std::invoke(this->access, defaults)) text += use.label + toml.text(value);
    }
  }
};

/// Keys that are read by a function, or by none here.
template <class Read>
struct OtherKey {
  static constexpr bool is_required = false;
  const char* key;
  Read function;
  const char* missing = nullptr;  ///< as of Key
  void add_names(std::vector<std::string>& names) const { names.emplace_back(key); }
  template <class T>
  void read_toml(const Reader& reader, const TomlNode& table, const std::string&, T& object) const {
    if constexpr (!std::same_as<Read, std::nullptr_t>) {
      const TomlNode* const node = table.find(key);
      if (node != nullptr) function(reader, *node, object);
      if (node == nullptr && missing != nullptr) reader.fail(table.at, missing);
    }
  }
  static void write(auto&, const auto&) {}
  static void read(const auto&, auto&) {}
  static void add_text(std::string&, const auto&) {}
};

/// access: a pointer to member, or a function of the structure that returns a reference.
template <class Access, class Form = forms::ByType, class Use = Kept>
constexpr Key<Access, Form, Use> key(const char* name, Access access, Form form = {}, Use use = {}) {
  return {name, access, form, use};
}
/// The same for a key that the section must have. missing: the error, at the section's place.
template <class Access, class Form = forms::ByType>
constexpr Key<Access, Form, Kept> required(const char* name, Access access, const char* missing, Form form = {}) {
  return {name, access, form, {}, missing};
}
/// Calls read(reader, node, object). missing: the error if the section lacks the key; null: it is optional.
template <class Read>
constexpr OtherKey<Read> read_by(const char* name, Read read, const char* missing = nullptr) {
  return {name, read, missing};
}
/// The section's reader reads it, because it depends on other keys.
constexpr OtherKey<std::nullptr_t> read_apart(const char* name) { return {name, nullptr}; }

/// The keys of one table, in the order in which they are read. Its JSON has those that are sent.
template <class T, class... Keys>
struct Section : base::fields::Object<T, Keys...> {
  const char* title;  ///< "[measure]"

  std::vector<std::string> names() const {
    std::vector<std::string> names;
    each([&](const auto& key) { key.add_names(names); });
    return names;
  }
  std::pair<std::string, std::vector<std::string>> titled() const { return {title, names()}; }
  /// Complains about unknown keys. where: the title, unless the same keys are in several places.
  const TomlNode& checked(const Reader& reader, const TomlNode& node, const std::string& where) const {
    reader.check_keys(reader.table(node, where), where, names());
    return node;
  }
  /// Reads the keys that the table has. prefix: before their names in errors: "kernel.".
  void read_keys(const Reader& reader, const TomlNode& table, const std::string& prefix, T& object) const {
    each([&](const auto& key) { key.read_toml(reader, table, prefix, object); });
  }
  void read_toml(const Reader& reader, const TomlNode& node, const std::string& prefix, T& object) const {
    read_keys(reader, checked(reader, node, title), prefix, object);
  }
  /// Adds the part of a measurement key.
  std::string key_text(const T& object) const {
    std::string text;
    each([&](const auto& key) { key.add_text(text, object); });
    return text;
  }

 private:
  template <class Visit>
  void each(const Visit& visit) const {
    std::apply([&](const auto&... key) { (visit(key), ...); }, this->fields);
  }
};
template <class T, class... Keys>
constexpr Section<T, Keys...> section(const char* title, Keys... keys) {
  return {{{keys...}}, title};
}

/// The other keys of a section that has those of `inner` as well, which its reader reads by `inner`.
template <class Inner>
struct KeysOf : OtherKey<std::nullptr_t> {
  const Inner* inner;
  void add_names(std::vector<std::string>& names) const {
    for (std::string& name : inner->names()) names.push_back(std::move(name));
  }
};
template <class Inner>
constexpr KeysOf<Inner> keys_of(const Inner& inner) {
  return {{inner.title, nullptr}, &inner};
}

inline constexpr auto launch_section = section<LaunchSpec>(
    "[launch]", key("grid", &LaunchSpec::grid, forms::Extents()), key("block", &LaunchSpec::block, forms::Extents()),
    key("shared", &LaunchSpec::shared), key("cluster", &LaunchSpec::cluster, forms::Extents()),
    key("cooperative", &LaunchSpec::cooperative));

inline constexpr auto ranking_words = base::enum_words<Statistic>("median", "min", "mean");
inline constexpr auto outliers_words = base::enum_words<bool>("keep", "drop");

/// Samples are stored unprocessed, so the statistic that ranks them is not in the measurement key.
inline constexpr auto measure_section = section<MeasureSpec>(
    "[measure]", key("warmup", &MeasureSpec::warmup, forms::Integer{0, 1'000'000}, sent_and_keyed("warmup ")),
    key("min_rep", &MeasureSpec::min_rep, forms::Integer{1, 1'000'000}, sent_and_keyed(" rep ")),
    key("rep", &MeasureSpec::rep, forms::Integer{1, 1'000'000}, sent_and_keyed("..")),
    key("min_time_ms", &MeasureSpec::min_time_ms, forms::Number{0, 1e9}, sent_and_keyed(" time_ms ")),
    key("max_time_ms", &MeasureSpec::max_time_ms, forms::Number{0, 1e9}, sent_and_keyed("..")),
    key("noise", &MeasureSpec::noise, forms::Number{0, 1}, sent_and_keyed(" noise ")),
    key("timeout_s", &MeasureSpec::timeout_s, forms::Number{0.001, 1e6}, sent_and_keyed(" timeout_s ")),
    read_apart("mode"), key("flush", &MeasureSpec::flush, forms::Word{flush_words}, sent_and_keyed(" flush ")),
    key("energy_ms", &MeasureSpec::energy_ms, forms::Number{0, 1e6}, sent_and_keyed_unless_default(" energy_ms ")),
    key("launch", &MeasureSpec::launch, forms::Word{launch_words}, sent_and_keyed_unless_default(" launch ")),
    key("wait_s", &MeasureSpec::wait_s, forms::Number{0, 3600}, sent),
    key("statistic", &MeasureSpec::statistic, forms::Word{ranking_words}),
    key("outliers", &MeasureSpec::drop_outliers, forms::Word{outliers_words}), key("race", &MeasureSpec::race),
    key("finals", &MeasureSpec::finals, forms::Integer{0, 1'000'000}));

/// Titles and keys of sections, for the documentation: of those that each of these functions reads, and of all.
using SectionKeys = std::vector<std::pair<std::string, std::vector<std::string>>>;
SectionKeys keys_of_kernel();
SectionKeys keys_of_args();
SectionKeys keys_of_process();
SectionKeys keys_of_sections();

}  // namespace xtune::spec
