// Tests of tables as CSV.
#include "base/csv.hpp"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

using xtune::base::csv_text;
using Json = nlohmann::ordered_json;

TEST_CASE("Objects become lines, and members of objects inside columns of their own") {
  CHECK(csv_text({}).empty());
  CHECK(csv_text({Json{{"a", 1}, {"config", {{"B", 64}, {"C", "row"}}}}, Json{{"z", true}, {"a", 2.5}}}) ==
        "a,config.B,config.C,z\n1,64,row,\n2.5,,,true\n");
  CHECK(csv_text({Json{{"a", nullptr}, {"b", {1, 2}}}}) == "a,b\n,\"[1,2]\"\n");
}

TEST_CASE("Text that a spreadsheet would run is made text, and numbers stay numbers") {
  for (const std::string text : {"=1+1", "+a", "-O3", "@SUM(A1)", "\tx", "\nx", "-", "--1", "-1 + 2", "＝1", "1e5"}) {
    CAPTURE(text);
    CHECK(csv_text({Json{{"a", text}}}).find("'" + text) == (text == "1e5"     ? std::string::npos
                                                             : text[0] == '\n' ? 3
                                                                               : 2));
  }
  CHECK(csv_text({Json{{"a", -1}, {"b", -2.5}, {"c", "-3"}, {"d", "+4.5e-3"}, {"e", "-.5"}, {"f", "a=b"}}}) ==
        "a,b,c,d,e,f\n-1,-2.5,-3,+4.5e-3,-.5,a=b\n");
  CHECK(csv_text({Json{{"=cmd", 1}}}) == "'=cmd\n1\n");
}

TEST_CASE("Commas, quotes and line ends stay in their cells") {
  CHECK(csv_text({Json{{"a,b", "x \"y\"\nz"}, {"c", "1,5"}}}) == "\"a,b\",c\n\"x \"\"y\"\"\nz\",\"1,5\"\n");
  CHECK(csv_text({Json{{"a", "red\x1b[31m"}}}) == "a\nred\\x1b[31m\n");
}
