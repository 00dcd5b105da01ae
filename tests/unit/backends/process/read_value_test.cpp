// Where numbers are found in the output of programs, and what is not a number.
#include "backends/process/read_value.hpp"

#include <doctest/doctest.h>

#include "base/text.hpp"
#include "support/text.hpp"

using namespace xtune::device;

using namespace xtune;
using namespace xtune::process;
using namespace xtune::test;
using Form = ProgramValue::Form;

namespace {

ProgramValue time_at(Form form, const std::string& where, const std::string& unit = "", int row = -1) {
  ProgramValue value;
  value.form = form;
  value.where = where;
  value.unit = unit;
  value.row = row;
  return value;
}

ProgramValue metric(Form form, const std::string& where, const std::string& unit = "") {
  ProgramValue value = time_at(form, where, unit);
  value.name = "bandwidth";
  return value;
}

std::string complaint(const ProgramValue& value, const std::string& text) {
  try {
    return "found " + std::to_string(read_number(value, text));
  } catch (const NoNumber& failure) {
    return failure.what();
  }
}

}  // namespace

TEST_CASE("a JSON path leads to a number") {
  const std::string text = R"({"runs": [{"t": 1.5}, {"t": 2.5}], "a.b": {"c/d": 7}, "text": "3 us"})";
  CHECK(read_number(time_at(Form::json, "runs[0].t"), text) == 1.5);
  CHECK(read_number(time_at(Form::json, "runs[-1].t"), text) == 2.5);
  CHECK(read_number(time_at(Form::json, "/runs/1/t"), text) == 2.5);
  CHECK(read_number(time_at(Form::json, "\"a.b\".c/d"), text) == 7);
  CHECK(read_number(time_at(Form::json, "/a.b/c~1d"), text) == 7);
  CHECK(read_number(time_at(Form::json, "text"), text) == doctest::Approx(0.003));
  CHECK(read_number(time_at(Form::json, "runs[0].t", "s"), text) == 1500);
}

TEST_CASE("JSON that follows other lines counts, and of several lines the last") {
  CHECK(read_number(time_at(Form::json, "t"), "warming up\n{\"t\": 1}\n{\"t\": 2}\ndone\n") == 2);
  CHECK(has(complaint(time_at(Form::json, "t"), "no braces at all\n"), "nor any line is JSON"));
}

TEST_CASE("a path that ends too soon says where, and names the nearest key") {
  const std::string text = R"({"runs": [{"time": 1}], "name": "x", "flag": true})";
  CHECK(has(complaint(time_at(Form::json, "runs[3].time"), text), "ends at [3]: the list has 1 items"));
  CHECK(has(complaint(time_at(Form::json, "runs[0].tine"), text), "no such key (did you mean 'time'?)"));
  CHECK(has(complaint(time_at(Form::json, "name.x"), text), "there is a string"));
  CHECK(has(complaint(time_at(Form::json, "runs"), text), "leads to a array"));
  CHECK(has(complaint(time_at(Form::json, "flag"), text), "leads to a boolean"));
}

TEST_CASE("a CSV column counts by its name, the last row unless another is asked for") {
  const std::string text = "# a comment\nname,\"met (ms)\",iters\n\"a, b\",1.5,10\nc,2.5,20\n\n";
  CHECK(read_number(time_at(Form::csv, "met (ms)"), text) == 2.5);
  CHECK(read_number(time_at(Form::csv, "met (ms)", "", 0), text) == 1.5);
  CHECK(read_number(time_at(Form::csv, "met (ms)", "", -2), text) == 1.5);
  CHECK(read_number(time_at(Form::csv, "iters"), text) == 20);
  CHECK(has(complaint(time_at(Form::csv, "met (ms)", "", 2), text), "has 2 values, and row 2 is wanted"));
  CHECK(has(complaint(time_at(Form::csv, "net (ms)"), "name,met (ms)\na,1\n"), "did you mean 'met (ms)'"));
  CHECK(has(complaint(time_at(Form::csv, "t"), "t,n,t\n4,1,5\n"), "the table has several columns 't'"));
  CHECK(read_number(time_at(Form::csv, "time"), "time\r\n4\r\n") == 4);
  CHECK(read_number(time_at(Form::csv, "time"), "\xEF\xBB\xBFtime,n\n4,1\n") == 4);
}

TEST_CASE("an empty cell of CSV is not a number, and no other row replaces it") {
  const std::string text = "name,t (ms)\na,5\nb,\n";
  for (const int row : {-1, 1})
    CHECK(has(complaint(time_at(Form::csv, "t (ms)", "", row), text), "the column 't (ms)' is empty in row 1"));
  CHECK(has(complaint(time_at(Form::csv, "t"), "name,t\na,\"\"\n"), "is empty in row 0"));
  CHECK(read_number(time_at(Form::csv, "t (ms)", "", 0), text) == 5);
  CHECK(read_number(time_at(Form::csv, "t (ms)", "", -2), text) == 5);
  CHECK(has(complaint(time_at(Form::csv, "t (ms)"), "name,t (ms)\n\n"), "has 0 values"));
}

TEST_CASE("a quoted field of CSV may hold line ends, commas and quotes") {
  const std::string text = "\"name\",t (ms)\r\n\"a, \"\"b\"\"\n9,9\",5\r\n \"c\",\"7\"\r\n";
  CHECK(read_number(time_at(Form::csv, "t (ms)"), text) == 7);
  CHECK(read_number(time_at(Form::csv, "t (ms)", "", 0), text) == 5);
  CHECK(read_number(time_at(Form::csv, "t"), "t,name\n4,\"a\nb\"") == 4);
  // A quote inside of a word opens nothing, and one that is never closed ends with its line.
  CHECK(read_number(time_at(Form::csv, "t"), "it's 5\" wide, yes\nname,t\n5\" pipe,4\n") == 4);
  CHECK(read_number(time_at(Form::csv, "t"), "\"broken\nname,t\na,4\n") == 4);
  CHECK(read_number(time_at(Form::csv, "t"), "name,t\na,4\n\"broken\n") == 4);
}

TEST_CASE("a regular expression's first group counts, on the last line that matches") {
  const std::string text = "step 1: 5.0 ms\nstep 2: 4.0 ms\ntotal\n";
  CHECK(read_number(time_at(Form::regex, "step \\d+: ([0-9.]+)"), text) == 4);
  CHECK(read_number(time_at(Form::regex, "[0-9.]+ ms"), text) == 4);
  CHECK(has(complaint(time_at(Form::regex, "took (.*)"), text), "no line matches the regular expression 'took (.*)'"));
  CHECK(base::last_match("^total$", text));
  CHECK_FALSE(base::last_match("^step 3", text));
}

TEST_CASE("a group that cuts a number or leaves its unit out is refused") {
  const auto time = [](const std::string& where, const std::string& unit = "") {
    ProgramValue value = time_at(Form::regex, where);
    value.unit = unit;
    return value;
  };
  CHECK(has(complaint(time("time: ([0-9.]+)", "ns"), "time: 1.23457e+06 ns\n"),
            "takes '1.23457' of a longer number: '1.23457e+06'"));
  CHECK(has(complaint(time("time: ([0-9]+)"), "time: 12.5 ms\n"), "of a longer number: '12.5'"));
  CHECK(has(complaint(time("time: ([0-9.]+)"), "time: 1.5 s\n"), "'1.5' is followed by the unit 's'"));
  CHECK(has(complaint(time("time: ([0-9]+)"), "time: 1,500 ms\n"), "takes '1' of a longer number: '1,500'"));
  CHECK(read_number(time("time: ([0-9.]+)"), "time: 1.5,2.5\n") == 1.5);
  for (const char* unit : {"microseconds", "(us)", "[nsec]", "secs", "minutes"})
    CHECK(
        has(complaint(time("time: ([0-9.]+)"), "time: 5 " + std::string(unit) + "\n"), "'5' is followed by the unit"));
  CHECK(read_number(time("time: ([0-9.]+)"), "time: 5 (ms)\n") == 5);
  CHECK(read_number(time("time: ([0-9.]+)", "s"), "time: 1.5 s, then\n") == 1500);
  CHECK(read_number(time("time: ([0-9.]+ s)"), "time: 1.5 s\n") == 1500);
  CHECK(read_number(time("([0-9.]+) ms total"), "1.5 ms total\n") == 1.5);
  CHECK(read_number(time("time: ([0-9.]+)"), "time: 3 eggs\n") == 3);
  CHECK(read_number(time("time: ([0-9.]+)"), "time: 3.\n") == 3);
}

TEST_CASE("a match that takes only a part of a number is refused, wherever the rest of it stands") {
  const auto read = [](const std::string& line, const std::string& where) {
    const std::string of_time = complaint(time_at(Form::regex, where), line + "\n");
    const std::string of_metric = complaint(metric(Form::regex, where), line + "\n");
    CHECK(of_time == of_metric);
    return of_time;
  };
  const auto cut = [&](const std::string& line, const std::string& part, const std::string& whole) {
    CAPTURE(line);
    for (const char* where : {"([0-9.]+) ms", "(\\d+) ms", "([0-9.]+) ms|never"})
      CHECK(has(read(line, where), "takes '" + part + "' of a longer number: '" + whole + "'"));
  };
  cut("took 9.5e-3 ms", "3", "9.5e-3");
  cut("took 1.25e+01 ms", "01", "1.25e+01");
  cut("took 1E5 ms", "5", "1E5");
  cut("took 1,234 ms", "234", "1,234");
  cut("took 1'234 ms", "234", "1'234");
  cut("took 12,345,678 ms", "678", "12,345,678");
  cut("took -5 ms", "5", "-5");
  cut("-5 ms", "5", "-5");
  cut("took=-5 ms", "5", "-5");
  CHECK(has(read("took 1'234 ms", "took ([0-9.]+)"), "takes '1' of a longer number: '1'234'"));
  CHECK(has(read("took 1,234.5 ms", "([0-9.]+) ms"), "takes '234.5' of a longer number: '1,234.5'"));
  CHECK(has(read("took 12.5 ms", "([0-9]+) ms"), "takes '5' of a longer number: '12.5'"));
  CHECK(has(read("took .5 ms", "([0-9]+) ms"), "takes '5' of a longer number: '.5'"));
  CHECK(has(read("took -.5 ms", "([.0-9]+) ms"), "takes '.5' of a longer number: '-.5'"));
  CHECK(has(read("took 123 ms", "([0-9]) ms"), "takes '3' of a longer number: '123'"));
  CHECK(has(read("-5 GB/s", "([0-9]+)"), "takes '5' of a longer number: '-5'"));
  // Neither dashes between words and numbers, nor dots that lead to a column, nor lists are a part of a number.
  for (const char* line :
       {"run-5 ms", "3-5 ms", "(a)-5 ms", "--5 ms", "time......5 ms", "a.5 ms", "1.5,5 ms", "x,10,5 ms",
        "name,10,20,5 ms", "size 4096,5 ms", "size=5 ms", "+5 ms", "time:5 ms", "e5 ms"}) {
    CAPTURE(line);
    CHECK(read(line, "([0-9]+) ms") == "found " + std::to_string(5.0));
  }
  CHECK(read("4096,512,100 ms", "([0-9]+) ms") == "found " + std::to_string(100.0));
  CHECK(read("-5 ms, then 7 ms", "then (\\d+)") == "found " + std::to_string(7.0));
  CHECK(read_number(metric(Form::regex, "(-?[0-9.]+) dB"), "gain -2.5 dB\n") == -2.5);
  CHECK(read_number(time_at(Form::regex, "(\\S+) ms"), "took 9.5e-3 ms\n") == doctest::Approx(9.5e-3));
}

TEST_CASE("a time that is not one number with a known unit is refused, and never read in part") {
  const auto refused = [](const std::string& line, const std::string& where, const std::string& why) {
    CAPTURE(line);
    CHECK(has(complaint(time_at(Form::regex, where), "warm-up\n" + line + "\n"), why));
  };
  const std::string narrow = "\xE2\x80\xAF", minus = "\xE2\x88\x92", fixed = "\xC2\xA0";
  // Each with the pattern that stops at the first character of no number, and with one that begins behind the last.
  for (const std::string& number :
       {std::string("1_234.5"), "1" + narrow + "234.5", "1" + fixed + "234", std::string("1,9"), std::string("1:05.30"),
        std::string("1:02:03"), std::string("1m5.300"), std::string("1h 02m 5"), std::string("1 min 5")}) {
    refused("took " + number + "s", "took ([0-9.]+)", "of a longer number: '" + std::string(base::printable(number)));
    refused("took " + number + " s", "([0-9.]+) ?s", "of a longer number: '" + std::string(base::printable(number)));
  }
  refused("took " + minus + "5 ms", "([0-9.]+) ms", "takes '5' of a longer number: '" + minus + "5'");
  for (const char* unit : {"min", "h", "hrs", "days", "Seconds", "SEC", "ps", "\xB5s", "s."})
    refused("took 2 " + std::string(unit), "took ([0-9.]+)", "'2' is followed by the unit '");
  refused("took 2" + fixed + "us", "took ([0-9.]+)", "'2' is followed by the unit 'us'");
  for (const char* unit : {"k", " m", " kms", "x", "k ms", " cycles", "eggs"})
    refused("took 2" + std::string(unit), "took ([0-9.]+)", "which is not a known unit of time (s, ms");
  refused("took 2.5k", "took (.*)", "is not a time");
  const auto read = [](const std::string& line, const std::string& where, const std::string& unit = "") {
    CAPTURE(line);
    return read_number(time_at(Form::regex, where, unit), line + "\n");
  };
  CHECK(read("real\t0m1.100s", "real\\s+0m([0-9.]+)", "s") == 1100);
  CHECK(read("real\t0m1.100s", "real\\s+0m([0-9.]+s)") == 1100);
  CHECK(read("took 00:00:05.5 s", ":([0-9.]+) s", "s") == 5500);
  CHECK(read("[12:30:05] step 7:15.5 ms", "([0-9.]+) ms") == 15.5);
  CHECK(read("took 2 min", "took (.*)") == 120000);
  CHECK(read("took 5, then 7", "took ([0-9]+)") == 5);
  CHECK(read("took 5 MS", "took ([0-9]+)") == 5);
  CHECK(read("5 per run", "([0-9]+)") == 5);
}

TEST_CASE("a metric with another prefix behind it is refused") {
  const auto read = [](const std::string& line, const std::string& unit = "") {
    return complaint(metric(Form::regex, "rate: ([0-9.]+)", unit), line + "\n");
  };
  CHECK(has(read("rate: 12 MB/s", "GB/s"), "'12' is followed by 'MB/s', and it would be read as GB/s"));
  CHECK(has(read("rate: 12k"), "'12' is followed by 'k', and it would be read as a number without a unit"));
  for (const char* line : {"rate: 12 GB/s", "rate: 12GB/s", "rate: 12", "rate: 12, then", "rate: 12 (GB/s)"})
    CHECK(read(line, "GB/s") == "found " + std::to_string(12.0));
  CHECK(read_number(metric(Form::regex, "speedup: ([0-9.]+)x"), "speedup: 1.5x\n") == 1.5);
}

TEST_CASE("a line of megabytes is searched as a whole") {
  const std::string text = "time 3 " + std::string(4'000'000, 'x') + "\n";
  CHECK(read_number(time_at(Form::regex, "time ([0-9]+)"), text) == 3);
  CHECK(has(complaint(time_at(Form::regex, "y"), text), "no line matches"));
  // A number is not cut, wherever it is in its line.
  CHECK(read_number(time_at(Form::regex, "time ([0-9]+)"), std::string(4090, 'x') + "time 1234\n") == 1234);
}

TEST_CASE("an expression that could be tried in exponentially many ways, or recursively, takes linear time") {
  const std::string hard = std::string(60, 'a') + "b\n", deep = std::string(200, '(') + "x" + std::string(200, ')');
  CHECK(has(complaint(time_at(Form::regex, "(a+)+$"), hard), "no line matches"));
  CHECK(has(complaint(time_at(Form::regex, "(" + deep + "+!)+"), std::string(4096, 'x') + "\n"), "no line matches"));
  CHECK(base::last_match("(a|aa)+b", hard));
  CHECK_FALSE(base::last_match("(.*) ms", std::string(10'000, 'x')));
  CHECK(base::last_match("[0-9]+", std::string(5'000, 'x') + "1\n22\r\n")->text == "22");
  CHECK(base::last_match("x(.)?$", "x\n")->text.empty());
  CHECK(base::last_match("t=(.)s", "t=\xB5s\n")->text == "\xB5");  // any bytes
}

TEST_CASE("a time is in milliseconds by the unit behind it, else by the spec's") {
  const auto read = [](const std::string& text, const std::string& unit = "") {
    return read_number(time_at(Form::regex, "(.*)", unit), text);
  };
  CHECK(read("12") == 12);
  CHECK(read("12", "us") == doctest::Approx(0.012));
  CHECK(read("2 s", "us") == 2000);
  CHECK(read("12.5us") == doctest::Approx(0.0125));
  CHECK(read("7 \xC2\xB5s") == doctest::Approx(0.007));
  CHECK(read("9ns") == doctest::Approx(9e-6));
  CHECK(read("+1e3 ms") == 1000);
  CHECK(has(complaint(time_at(Form::regex, "(.*)"), "5 furlongs"), "a unit of time"));
}

TEST_CASE("invalid times are refused: NaN, infinity, zero, negative, and words") {
  for (const char* text : {"nan", "NaN", "inf", "-inf", "-nan"}) {
    CAPTURE(text);
    CHECK(has(complaint(time_at(Form::regex, "(.*)"), text), "it is '" + std::string(text) + "'"));
  }
  for (const char* text : {"0", "-1.5", "0.0 us", "1e-320", "1e300", "1e308 s"}) {
    CAPTURE(text);
    CHECK(has(complaint(time_at(Form::regex, "(.*)"), text), "times are from 1e-9 ms to 1e12 ms"));
  }
  CHECK(has(complaint(time_at(Form::regex, "(.*)"), "fast"), "'fast' is not a number"));
}

TEST_CASE("a metric has its own unit, and may be zero or below") {
  CHECK(read_number(metric(Form::regex, "(.*)", "GB/s"), "12.5 GB/s") == 12.5);
  CHECK(read_number(metric(Form::regex, "(.*)", "GB/s"), "-3") == -3);
  CHECK(has(complaint(metric(Form::regex, "(.*)", "GB/s"), "12 MB/s"), "is not in GB/s, as the spec says it is"));
  CHECK(has(complaint(metric(Form::regex, "(.*)"), "12 MB/s"), "more than a number"));
  CHECK(has(complaint(metric(Form::regex, "(.*)"), "nan"), "it is 'nan'"));
}
