// SPDX-License-Identifier: Apache-2.0
// Objects of JSON by lists of their members: what is written, and what is refused at which place.
#include <optional>
#include <variant>

#include <gtest/gtest.h>

#include "schemas/core/ids.h"
#include "schemas/core/json_object.h"
#include "schemas/core/json_one_of.h"
#include "tests/support/vectors.h"

namespace assay {
namespace {

using test::code_of;
using test::where_of;

enum class Colour : std::uint8_t { kRed, kBlue };
std::string_view name(Colour colour) { return colour == Colour::kRed ? "red" : "blue"; }
Result<Colour> colour_from(std::string_view text) {
  if (text != "red" && text != "blue") {
    return fail(ErrorCode::kInvalidParameter, "no such colour");
  }
  return text == "red" ? Colour::kRed : Colour::kBlue;
}

struct Part {
  std::string id;
  std::uint32_t size = 0;
  bool whole = true;
  bool operator==(const Part&) const = default;
};
auto members_of(json::As<Part> /*type*/) {
  return std::tuple(json::always("id", &Part::id), json::if_set("size", &Part::size),
                    json::unless_default("whole", &Part::whole));
}

struct Place {
  std::string street;
  bool operator==(const Place&) const = default;
};

struct Thing {
  DocumentId document;
  Colour colour{};
  std::vector<Part> parts;
  std::optional<std::string> owner;
  std::optional<std::uint64_t> weight;
  std::map<std::string, std::vector<std::string>> tags;
  Place place;
  std::string maker;
  std::string model;
  bool operator==(const Thing&) const = default;
};
auto members_of(json::As<Thing> /*type*/) {
  using T = Thing;
  const auto made = [](const T& thing) { return !thing.maker.empty(); };
  return std::tuple(
      json::constant("format", "thing-v1"), json::always("document", &T::document),
      json::always("colour", &T::colour, json::named(colour_from)),
      json::always("parts", &T::parts, json::ascending(std::less<>(), &Part::id)),
      json::if_set("owner", &T::owner), json::or_null("weight", &T::weight),
      json::if_set("tags", &T::tags),
      json::among(&T::place, std::tuple(json::always("street", &Place::street))),
      json::group("made", made,
                  std::tuple(json::always("by", &T::maker), json::if_set("as", &T::model))));
}
Thing start(json::As<Thing> /*type*/) {
  return {json::unread<DocumentId>(), {}, {}, {}, {}, {}, {}, {}, {}};
}
Status together(const Thing& thing) {
  return thing.owner || !thing.weight
             ? Status()
             : fail(ErrorCode::kSchemaViolation, "what nobody owns is not weighed", "/weight");
}

const std::string kDocument = "sha256:" + std::string(64, 'a');

Json full() {
  return Json{{"format", "thing-v1"},
              {"document", kDocument},
              {"colour", "blue"},
              {"parts", {{{"id", "a"}, {"size", 3}}, {{"id", "b"}, {"whole", false}}}},
              {"owner", "me"},
              {"weight", 7},
              {"tags", {{"x", {"y", "z"}}}},
              {"street", "Main"},
              {"made", {{"by", "them"}, {"as", "M1"}}}};
}

TEST(JsonMembers, FullAndLeast_AreWrittenAsTheyWereRead) {
  Json least = {{"format", "thing-v1"},   {"document", kDocument}, {"colour", "red"},
                {"parts", Json::array()}, {"weight", nullptr},     {"street", ""}};
  for (const Json& json : {full(), least}) {
    const auto thing = json::read<Thing>(json);
    ASSERT_TRUE(thing) << to_string(thing.error());
    EXPECT_EQ(json::write(*thing), json);
  }
}

TEST(JsonMembers, EachChange_IsRefusedAtItsPlace) {
  struct Case {
    const char* place;
    Json value;
    const char* code;
    const char* where;
  };
  const std::vector<Case> cases = {
      {"/format", "thing-v2", "schema-violation", "/format"},
      {"/document", "sha256:00", "invalid-digest", "/document"},
      {"/document", 1, "schema-violation", "/document"},
      {"/colour", "green", "invalid-parameter", "/colour"},
      {"/parts", Json::object(), "schema-violation", "/parts"},
      {"/parts/1/id", nullptr, "schema-violation", "/parts/1/id"},
      {"/parts/1/id", "a", "schema-violation", "/parts"},
      {"/parts/0/size", std::uint64_t{1} << 32U, "schema-violation", "/parts/0/size"},
      {"/parts/0/size", -1, "schema-violation", "/parts/0/size"},
      {"/parts/0/more", 1, "unknown-member", "/parts/0/more"},
      {"/owner", nullptr, "schema-violation", "/owner"},
      {"/weight", "7", "schema-violation", "/weight"},
      {"/tags/x/1", 1, "schema-violation", "/tags/x/1"},
      {"/street", true, "schema-violation", "/street"},
      {"/made/by", 1, "schema-violation", "/made/by"},
      {"/made/more", 1, "unknown-member", "/made/more"},
      {"/made", Json::array(), "schema-violation", "/made"},
      {"/more", 1, "unknown-member", "/more"},
  };
  for (const Case& one : cases) {
    Json json = full();
    json[Json::json_pointer(one.place)] = one.value;
    const auto thing = json::read<Thing>(json);
    EXPECT_EQ(code_of(thing), one.code) << one.place << one.value;
    EXPECT_EQ(where_of(thing), one.where) << one.place << one.value;
  }
}

TEST(JsonMembers, OfWhatIsAlwaysThere_NothingMayBeMissing) {
  for (const auto& member : {"format", "document", "colour", "parts", "weight", "street"}) {
    Json json = full();
    json.erase(member);
    const auto thing = json::read<Thing>(json);
    EXPECT_EQ(code_of(thing), "schema-violation") << member;
    EXPECT_EQ(where_of(thing), "/" + std::string(member));
  }
  Json json = full();
  json.erase("owner");
  EXPECT_EQ(where_of(json::read<Thing>(json)), "/weight");
  json = full();
  json["made"].erase("by");
  EXPECT_EQ(where_of(json::read<Thing>(json)), "/made/by");
  EXPECT_EQ(code_of(json::read<Thing>(Json::array())), "schema-violation");
}

TEST(JsonMembers, OneOfSeveral_IsTakenByItsName) {
  struct Whole {
    Place place;
  };
  using Either = std::variant<Part, Whole>;
  const auto either =
      std::tuple(json::alternative<Part>("part"), json::alternative("place", &Whole::place));
  const Json part = {{"part", {{"id", "a"}}}};
  const auto read = json::read_one<Either>(part, std::tuple(json::alternative<Part>("part")));
  ASSERT_TRUE(read);
  EXPECT_EQ(json::write_one(*read, std::tuple(json::alternative<Part>("part"))), part);
  EXPECT_TRUE(json::is_one(part, either));
  EXPECT_FALSE(json::is_one(Json{{"other", 1}}, either));
  const auto none =
      json::read_one<Either>(Json::object(), std::tuple(json::alternative<Part>("part")));
  EXPECT_EQ(code_of(none), "schema-violation");
  const auto wrong = json::read_one<Either>(Json{{"part", {{"id", 1}}}},
                                            std::tuple(json::alternative<Part>("part")));
  EXPECT_EQ(where_of(wrong), "/part/id");
}

}  // namespace
}  // namespace assay
