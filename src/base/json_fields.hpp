// Lists of fields: one list for each structure, used to write it as JSON and to read it.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/json_text.hpp"
#include "base/text.hpp"
#include "xtune/error.hpp"

namespace xtune::base {

/// A number; "nan", "inf" and "-inf" as texts, which JSON has no numbers for.
nlohmann::json number_to_json(double number);
double number_from_json(const nlohmann::json& json);

}  // namespace xtune::base

/// A form writes one type of value as JSON and reads it back: write(json, value) sets json, and read(json, value) sets
/// value or throws nlohmann's exception or Error(io).
namespace xtune::base::fields {

/// The value as nlohmann-json converts it; an enumerator as its number.
struct Plain {
  template <class Json, class T>
  static void write(Json& json, const T& value) {
    json = value;
  }
  template <class Json, class T>
  static void read(const Json& json, T& value) {
    json.get_to(value);
  }
};

inline std::string printable_text(const std::string& text) { return printable(text); }
inline std::string exact_utf8_text(const std::string& text) { return utf8_text(text); }

/// Text, or lists and pairs of texts, converted by `stored` before it is written.
template <std::string (*stored)(const std::string&)>
struct TextForm : Plain {
  template <class Json>
  static void write(Json& json, const std::string& text) {
    json = stored(text);
  }
  template <class Json>
  static void write(Json& json, const std::pair<std::string, std::string>& pair) {
    json = {stored(pair.first), stored(pair.second)};
  }
  template <class Json, class T>
  static void write(Json& json, const std::vector<T>& list) {
    json = Json::array();
    for (const T& each : list) write(json.emplace_back(), each);
  }
};
/// Text that is made printable.
using Text = TextForm<printable_text>;
inline constexpr Text text;
/// Text as it is, except for bytes that are not UTF-8, which JSON cannot hold.
inline constexpr TextForm<exact_utf8_text> exact_text;

/// Two functions: json = to(value), value = from(json).
template <class To, class From>
struct Through {
  To to;
  From from;
  template <class Json, class T>
  void write(Json& json, const T& value) const {
    json = to(value);
  }
  template <class Json, class T>
  void read(const Json& json, T& value) const {
    value = from(json);
  }
};
template <class To, class From>
Through(To, From) -> Through<To, From>;

/// A double that may be NaN or infinite.
inline constexpr Through number{&number_to_json, &number_from_json};

inline constexpr Through path{[](const std::filesystem::path& value) { return value.string(); },
                              [](const auto& json) { return json.template get<std::string>(); }};

/// An enumerator as a word. from(word) is nullopt for an unknown word; unknown(word) is then the error's message.
template <class From, class Unknown>
constexpr auto word(From from, Unknown unknown) {
  return Through{[](const auto& value) { return to_string(value); },
                 [=](const auto& json) {
                   const auto name = json.template get<std::string>();
                   if (const auto known = from(name)) return *known;
                   throw Error(ErrorKind::io, unknown(name));
                 }};
}

/// A vector, each element in the given form.
template <class Form>
struct List {
  Form form;
  template <class Json, class T>
  void write(Json& json, const std::vector<T>& list) const {
    json = Json::array();
    for (const T& each : list) form.write(json.emplace_back(), each);
  }
  template <class Json, class T>
  void read(const Json& json, std::vector<T>& list) const {
    list.clear();
    for (const Json& each : json.template get_ref<const typename Json::array_t&>())
      form.read(each, list.emplace_back());
  }
};
template <class Form>
List(Form) -> List<Form>;

/// A std::optional or a std::shared_ptr to const; null if it is unset.
template <class Form>
struct Nullable {
  Form form;
  template <class Json, class Holder>
  void write(Json& json, const Holder& value) const {
    value ? form.write(json, *value) : void(json = nullptr);
  }
  template <class Json, class T>
  void read(const Json& json, std::optional<T>& value) const {
    value.reset();
    if (!json.is_null()) form.read(json, value.emplace());
  }
  template <class Json, class T>
  void read(const Json& json, std::shared_ptr<const T>& value) const {
    std::optional<T> held;
    read(json, held);
    value = held ? std::make_shared<const T>(std::move(*held)) : nullptr;
  }
};
template <class Form>
Nullable(Form) -> Nullable<Form>;

enum class Presence {
  required,     ///< always written; reading throws if it is absent
  always,       ///< always written; if it is absent, as in an earlier version, the value is kept
  optional,     ///< omitted if it has the structure's default, or if a std::optional is unset
  unless_empty  ///< omitted if its JSON is empty
};

template <class T>
inline constexpr bool is_optional = false;
template <class T>
inline constexpr bool is_optional<std::optional<T>> = true;

/// One member of a JSON object. access: a pointer to member, or a function of the structure that returns a reference.
template <Presence presence, class Access, class Form>
struct Field {
  static constexpr bool is_required = presence == Presence::required;
  const char* key;
  Access access;
  Form form;

  template <class Json, class T>
  void write(Json& json, const T& object) const {
    const auto& value = std::invoke(access, object);
    if constexpr (presence == Presence::unless_empty) {
      Json inner;
      form.write(inner, value);
      if (!inner.empty()) json[key] = std::move(inner);
    } else if constexpr (presence == Presence::optional && is_optional<std::remove_cvref_t<decltype(value)>>) {
      if (value) form.write(json[key], *value);
    } else if constexpr (presence == Presence::optional) {
      static const T defaults{};
      if (value != std::invoke(access, defaults)) form.write(json[key], value);
    } else {
      form.write(json[key], value);
    }
  }
  template <class Json, class T>
  void read(const Json& json, T& object) const {
    const auto found = json.find(key);
    if (found == json.end() && !is_required) return;
    const Json& member = found == json.end() ? json.at(key) : *found;  // at() throws
    auto& value = std::invoke(access, object);
    if constexpr (presence == Presence::optional && is_optional<std::remove_cvref_t<decltype(value)>>)
      form.read(member, value.emplace());
    else
      form.read(member, value);
  }
};

template <class Access, class Form = Plain>
constexpr Field<Presence::required, Access, Form> required(const char* key, Access access, Form form = {}) {
  return {key, access, form};
}
template <class Access, class Form = Plain>
constexpr Field<Presence::always, Access, Form> always(const char* key, Access access, Form form = {}) {
  return {key, access, form};
}
template <class Access, class Form = Plain>
constexpr Field<Presence::optional, Access, Form> optional(const char* key, Access access, Form form = {}) {
  return {key, access, form};
}
template <class Access, class Form>
constexpr Field<Presence::unless_empty, Access, Form> unless_empty(const char* key, Access access, Form form) {
  return {key, access, form};
}

/// A field that is always written with one value and ignored when it is read.
template <class Value>
struct Constant {
  static constexpr bool is_required = false;
  const char* key;
  Value value;
  template <class Json, class T>
  void write(Json& json, const T&) const {
    json[key] = value;
  }
  template <class Json, class T>
  static void read(const Json&, T&) {}
};
template <class Value>
Constant(const char*, Value) -> Constant<Value>;

/// A field that is written only where condition(object) is true.
template <class Condition, class Field>
struct When : Field {
  Condition condition;
  constexpr When(Condition if_true, Field field) : Field(field), condition(if_true) {}
  template <class Json, class T>
  void write(Json& json, const T& object) const {
    if (condition(object)) Field::write(json, object);
  }
};

/// A structure as a JSON object.
template <class T, class... Fields>
struct Object {
  std::tuple<Fields...> fields;

  template <class Json>
  void write(Json& json, const T& object) const {
    json = Json::object();
    add_to(json, object);
  }
  /// Adds the fields to `json`, which keeps its other fields.
  template <class Json>
  void add_to(Json& json, const T& object) const {
    std::apply([&](const auto&... field) { (field.write(json, object), ...); }, fields);
  }
  /// around(field, read) calls read(), for each field in their order.
  template <class Json, class Around>
  void read(const Json& json, T& object, const Around& around) const {
    json.template get_ref<const typename Json::object_t&>();  // throws unless it is an object
    std::apply([&](const auto&... field) { (around(field, [&] { field.read(json, object); }), ...); }, fields);
  }
  template <class Json>
  void read(const Json& json, T& object) const {
    read(json, object, [](const auto&, const auto& read_field) { read_field(); });
  }
  /// The same. Errors name the field: "record field 'kernel': it is missing", for what "record field".
  void read_named(const nlohmann::json& json, T& object, const std::string& what) const {
    read(json, object, [&](const auto& field, const auto& read_field) {
      const auto fail = [&](const std::string& why) {
        return Error(ErrorKind::io, what + " '" + field.key + "': " + why);
      };
      if (field.is_required && !json.contains(field.key)) throw fail("it is missing");
      try {
        read_field();
      } catch (const nlohmann::json::exception& error) {
        throw fail(json_error_text(error));
      } catch (const Error& error) {
        throw fail(error.what());
      }
    });
  }
  /// The fields' names, in their order.
  std::vector<std::string> names() const {
    return std::apply([](const auto&... field) { return std::vector<std::string>{field.key...}; }, fields);
  }
  template <class Json = nlohmann::json>
  Json to_json(const T& object) const {
    Json json;
    write(json, object);
    return json;
  }
  T from_json(const nlohmann::json& json) const {
    T object{};
    read(json, object);
    return object;
  }
};
template <class T, class... Fields>
constexpr Object<T, Fields...> object(Fields... fields) {
  return {{fields...}};
}

}  // namespace xtune::base::fields
