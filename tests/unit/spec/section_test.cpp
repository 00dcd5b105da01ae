// A key of a section is one line in its list.
#include "core/spec/section.hpp"

#include <doctest/doctest.h>

#include "specs.hpp"

using namespace xtune;
using namespace xtune::spec;

namespace {

enum class Bean { arabica, robusta };
constexpr auto bean_words = base::enum_words<Bean>("arabica", "robusta");

struct Brew {
  double grams = 18;
  Bean bean = Bean::arabica;
  std::optional<int> seconds;
  bool milk = false;
  std::vector<Text> sizes{};
};

constexpr auto brew_section =
    section<Brew>("[brew]", key("grams", &Brew::grams, forms::Number{0, 30}, sent_and_keyed("grams ")),
                  key("bean", &Brew::bean, forms::Word{bean_words}, sent_and_keyed_unless_default(" bean ")),
                  key("seconds", &Brew::seconds, forms::Integer{1}), key("milk", &Brew::milk, forms::ByType(), sent),
                  key("sizes", &Brew::sizes), read_apart("cup"));

Brew brewed(const std::string& toml) {
  Document document(toml, "brew.toml");
  Spec spec;
  const Reader reader{document, spec, "/"};
  Brew brew;
  brew_section.read_toml(reader, *document.root().find("brew"), "", brew);
  document.throw_complaints();
  return brew;
}

std::string complaint(const std::string& toml) {
  try {
    brewed(toml);
    return "no error";
  } catch (const Error& error) {
    return error.what();
  }
}

}  // namespace

TEST_CASE("one list reads a section's keys, and keeps the defaults of the others") {
  const Brew brew = brewed("[brew]\ngrams = 20\nbean = \"robusta\"\nseconds = 25\nsizes = [\"N\", 2]\ncup = 1\n");
  CHECK(brew.grams == 20);
  CHECK(brew.bean == Bean::robusta);
  CHECK(brew.seconds == 25);
  CHECK(!brew.milk);
  CHECK(brew.sizes.at(1).text == "2");
}

TEST_CASE("it refuses misspelt keys and bad values") {
  CHECK(complaint("[brew]\ngram = 20\n") ==
        "brew.toml:2:1: unknown key 'gram' in [brew] (did you mean 'grams'?)\n  gram = 20\n  ^");
  CHECK(complaint("[brew]\ngrams = 40\n").starts_with("brew.toml:2:9: grams = 40 is more than 30"));
  CHECK(complaint("[brew]\nbean = \"robust\"\n")
            .starts_with(
                "brew.toml:2:8: bean: unknown word 'robust' (did you mean 'robusta'?); one of arabica, robusta"));
}

TEST_CASE("it sends the keys that workers need") {
  Brew brew;
  brew.grams = 21.5;
  brew.bean = Bean::robusta;
  brew.milk = true;
  brew.seconds = 25;
  const nlohmann::json sent = brew_section.to_json(brew);
  CHECK(sent == nlohmann::json{{"grams", 21.5}, {"bean", 1}, {"milk", true}});
  const Brew back = brew_section.from_json(sent);
  CHECK(back.grams == 21.5);
  CHECK(back.bean == Bean::robusta);
  CHECK(back.milk);
  CHECK(!back.seconds);
}

TEST_CASE("it writes measurement keys, without a newer key that has its default") {
  Brew brew;
  CHECK(brew_section.key_text(brew) == "grams 18");
  brew.bean = Bean::robusta;
  CHECK(brew_section.key_text(brew) == "grams 18 bean robusta");
}

TEST_CASE("it lists the keys") {
  CHECK(brew_section.names() == std::vector<std::string>{"grams", "bean", "seconds", "milk", "sizes", "cup"});
}

TEST_CASE("the key text of [measure] is that of stored records") {
  CHECK(measure_section.key_text({}) == "warmup 3 rep 7..50 time_ms 0..200 noise 0.005 timeout_s 30 flush l2");
  MeasureSpec measure;
  measure.energy_ms = 300;
  measure.launch = LaunchBy::graph;
  measure.flush = Flush::none;
  measure.wait_s = 5;
  measure.finals = 2;
  CHECK(measure_section.key_text(measure) ==
        "warmup 3 rep 7..50 time_ms 0..200 noise 0.005 timeout_s 30 flush none energy_ms 300 launch graph");
}
