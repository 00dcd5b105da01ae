// Lists of fields: one list for each structure writes it as JSON and reads it back.
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

#include "base/text.hpp"
#include "xtune/error.hpp"

namespace xtune::base {

/// A number, or "nan", "inf", "-inf", which JSON lacks.
nlohmann::json number_to_json(double number);
double number_from_json(const nlohmann::json& json);

}  // namespace xtune::base

/// A form writes one type of value as JSON and reads it back: write(json, value) sets json, and read(json, value) sets
/// value or throws nlohmann's exception or Error(io).
namespace xtune::base::fields {

/// What nlohmann-json makes of the value.
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
inline constexpr Plain plain;

/// Text, or lists and pairs of texts, made printable.
struct Text {
  template <class Json>
  static void write(Json& json, const std::string& text) {
    json = printable(text);
  }
  template <class Json>
  static void write(Json& json, const std::pair<std::string, std::string>& pair) {
    json = {printable(pair.first), printable(pair.second)};
  }
  template <class Json, class T>
  static void write(Json& json, const std::vector<T>& list) {
    json = Json::array();
    for (const T& each : list) write(json.emplace_back(), each);
  }
  template <class Json, class T>
  static void read(const Json& json, T& value) {
    json.get_to(value);
  }
};
inline constexpr Text text;

/// A double that may be NaN or infinite.
struct Number {
  template <class Json>
  static void write(Json& json, double number) {
    json = number_to_json(number);
  }
  template <class Json>
  static void read(const Json& json, double& number) {
    number = number_from_json(json);
  }
};
inline constexpr Number number;

struct Path {
  template <class Json>
  static void write(Json& json, const std::filesystem::path& path) {
    json = path.string();
  }
  template <class Json>
  static void read(const Json& json, std::filesystem::path& path) {
    path = json.template get<std::string>();
  }
};
inline constexpr Path path;

/// An enumerator by its number.
struct Enumerator {
  template <class Json, class Enum>
  static void write(Json& json, Enum value) {
    json = static_cast<int>(value);
  }
  template <class Json, class Enum>
  static void read(const Json& json, Enum& value) {
    value = static_cast<Enum>(json.template get<int>());
  }
};
inline constexpr Enumerator enumerator;

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
constexpr Through<To, From> through(To to, From from) {
  return {to, from};
}

/// An enumerator by its word. from(word) is nullopt for an unknown one, and unknown(word) then the error's message.
template <class From, class Unknown>
struct Word {
  From from;
  Unknown unknown;
  template <class Json, class Enum>
  void write(Json& json, Enum value) const {
    json = to_string(value);
  }
  template <class Json, class Enum>
  void read(const Json& json, Enum& value) const {
    const auto name = json.template get<std::string>();
    const std::optional<Enum> known = from(name);
    if (!known) throw Error(ErrorKind::io, unknown(name));
    value = *known;
  }
};
template <class From, class Unknown>
constexpr Word<From, Unknown> word(From from, Unknown unknown) {
  return {from, unknown};
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
constexpr List<Form> list(Form form) {
  return {form};
}

/// A std::optional that is set.
template <class Form>
struct Held {
  Form form;
  template <class Json, class T>
  void write(Json& json, const std::optional<T>& value) const {
    form.write(json, *value);
  }
  template <class Json, class T>
  void read(const Json& json, std::optional<T>& value) const {
    form.read(json, value.emplace());
  }
};
template <class Form>
constexpr Held<Form> held(Form form) {
  return {form};
}

/// A std::optional or a std::shared_ptr to const, of which null stands for one that is unset.
template <class Form>
struct Nullable {
  Form form;
  template <class Json, class Holder>
  void write(Json& json, const Holder& value) const {
    if (value)
      form.write(json, *value);
    else
      json = nullptr;
  }
  template <class Json, class T>
  void read(const Json& json, std::optional<T>& value) const {
    value.reset();
    if (!json.is_null()) form.read(json, value.emplace());
  }
  template <class Json, class T>
  void read(const Json& json, std::shared_ptr<const T>& value) const {
    value.reset();
    if (json.is_null()) return;
    const auto read_value = std::make_shared<T>();
    form.read(json, *read_value);
    value = read_value;
  }
};
template <class Form>
constexpr Nullable<Form> nullable(Form form) {
  return {form};
}

template <class T>
inline constexpr bool is_std_optional = false;
template <class T>
inline constexpr bool is_std_optional<std::optional<T>> = true;
template <class T>
inline constexpr bool is_optional = is_std_optional<std::remove_cvref_t<T>>;

enum class Presence {
  required,     ///< always written; reading throws where it is absent
  always,       ///< always written; absent, of an earlier version: the value stays
  optional,     ///< omitted at the default of the structure, or where a std::optional is unset
  unless_empty  ///< omitted where its JSON is empty
};

/// One member of a JSON object. access: a pointer to member, or a function of the structure that returns a reference.
template <Presence presence, class Access, class Form>
struct Field {
  static constexpr bool is_required = presence == Presence::required;
  template <class Value>
  static constexpr bool may_be_unset = presence == Presence::optional&& is_optional<Value>;
  const char* key;
  Access access;
  Form form;

  template <class Json, class T>
  void write(Json& json, const T& object) const {
    const auto& value = std::invoke(access, object);
    if constexpr (may_be_unset<decltype(value)>) {
      if (!value) return;
    } else if constexpr (presence == Presence::optional) {
      static const T defaults{};
      if (value == std::invoke(access, defaults)) return;
    }
    if constexpr (presence == Presence::unless_empty) {
      Json inner;
      form.write(inner, value);
      if (!inner.empty()) json[key] = std::move(inner);
    } else if constexpr (may_be_unset<decltype(value)>) {
      form.write(json[key], *value);
    } else {
      form.write(json[key], value);
    }
  }
  template <class Json, class T>
  void read(const Json& json, T& object) const {
    if constexpr (is_required) {
      form.read(json.at(key), std::invoke(access, object));
    } else if (const auto found = json.find(key); found != json.end()) {
      auto& value = std::invoke(access, object);
      if constexpr (may_be_unset<decltype(value)>)
        form.read(*found, value.emplace());
      else
        form.read(*found, value);
    }
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

/// Always written with one value, which reading ignores.
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
constexpr Constant<Value> constant(const char* key, Value value) {
  return {key, value};
}

/// A field that is written where condition(object) is true, and read where it is present.
template <class Condition, class Access, class Form>
struct When : Field<Presence::always, Access, Form> {
  Condition condition;
  template <class Json, class T>
  void write(Json& json, const T& object) const {
    if (condition(object)) Field<Presence::always, Access, Form>::write(json, object);
  }
};
template <class Condition, class Access, class Form = Plain>
constexpr When<Condition, Access, Form> when(Condition condition, const char* key, Access access, Form form = {}) {
  return {{key, access, form}, condition};
}

/// A structure as a JSON object.
template <class T, class... Fields>
struct Object {
  std::tuple<Fields...> fields;

  template <class Json>
  void write(Json& json, const T& object) const {
    json = Json::object();
    add_to(json, object);
  }
  /// Adds the fields to those that json has.
  template <class Json>
  void add_to(Json& json, const T& object) const {
    std::apply([&](const auto&... field) { (field.write(json, object), ...); }, fields);
  }
  /// around(field, read) calls read(), for each field in their order.
  template <class Json, class Around>
  void read(const Json& json, T& object, const Around& around) const {
    json.template get_ref<const typename Json::object_t&>();  // throws for others, in which find() only finds nothing
    std::apply([&](const auto&... field) { (around(field, [&] { field.read(json, object); }), ...); }, fields);
  }
  template <class Json>
  void read(const Json& json, T& object) const {
    read(json, object, [](const auto&, const auto& read_field) { read_field(); });
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

/// A member of a structure that is written as a JSON array.
template <class Access, class Form>
struct Item {
  Access access;
  Form form;
};
template <class Access, class Form = Plain>
constexpr Item<Access, Form> item(Access access, Form form = {}) {
  return {access, form};
}

/// A structure as a JSON array of its items.
template <class T, class... Items>
struct Row {
  std::tuple<Items...> items;

  template <class Json>
  void write(Json& json, const T& object) const {
    json = Json::array();
    std::apply(
        [&](const auto&... each) { (each.form.write(json.emplace_back(), std::invoke(each.access, object)), ...); },
        items);
  }
  template <class Json>
  void read(const Json& json, T& object) const {
    std::size_t place = 0;
    std::apply([&](const auto&... each) { (each.form.read(json.at(place++), std::invoke(each.access, object)), ...); },
               items);
  }
};
template <class T, class... Items>
constexpr Row<T, Items...> row(Items... items) {
  return {{items...}};
}

}  // namespace xtune::base::fields
