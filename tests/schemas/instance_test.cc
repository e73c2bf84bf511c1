// SPDX-License-Identifier: Apache-2.0
// Registrations of model instances: what is taken reads back the same, and every claim about memory
// that does not add up is refused with its place.
#include "schemas/instance.h"

#include <gtest/gtest.h>

#include "schemas/instance_message.h"
#include "tests/schemas/samples.h"
#include "tests/support/vectors.h"

namespace assay {
namespace {

using test::bytes_of;
using test::code_of;
using test::where_of;

InstanceRegistration sample() {
  return {.artifact = ArtifactId(test::digest_of("artifact")),
          .instance = "main",
          .rank = 1,
          .world = 2,
          .device = "GPU-5a1d0c52",
          .pieces = {{100, PieceKind::kDevice, ""},
                     {64, PieceKind::kHost, ""},
                     {32, PieceKind::kStaged, "cudaMalloc"}},
          .tensors = {{{"embed", "head"}, "F32", {2, 20}, {{0, 4, 96}, {1, 0, 64}}},
                      {{"norm"}, "BF16", {16}, {{2, 0, 32}}},
                      {{"empty"}, "F32", {0, 7}, {}},
                      {{"scalar"}, "I32", {}, {{0, 0, 4}}}},
          .uncovered_count = 3,
          .uncovered_bytes = 99,
          .window = kStagingWindow};
}

Result<InstanceRegistration> parsed(const InstanceRegistration& registration) {
  return parse_instance_registration(to_json(registration));
}

// Changes the sample and expects a refusal.
void refused(void (*change)(InstanceRegistration&), const char* code, const char* where) {
  InstanceRegistration registration = sample();
  change(registration);
  EXPECT_EQ(code_of(parsed(registration)), code) << where;
  EXPECT_EQ(where_of(parsed(registration)), where);
}

TEST(InstanceRegistration, ReadsBackTheSame) {
  const auto read = parsed(sample());
  ASSERT_TRUE(read) << to_string(read.error());
  EXPECT_EQ(*read, sample());
}

Layout sample_layout() {
  LayoutTensor norm{"norm", "BF16", {16}, {.op = LayoutOp::kEntry, .entry = {"norm"}}};
  return {sample().artifact, {{{norm}}, {}}};
}

TEST(InstanceRegistration, WithLayout_ReadsBackTheSame) {
  InstanceRegistration registration = sample();
  registration.layout = sample_layout();
  const auto read = parse_owner_message(bytes_of(to_json(registration)));
  ASSERT_TRUE(read) << to_string(read.error());
  EXPECT_EQ(std::get<InstanceRegistration>(*read), registration);
}

TEST(InstanceRegistration, PublishedLayout_ReadsBackTheSameAndIsAlone) {
  InstanceRegistration registration = sample();
  registration.published = ArtifactId(test::digest_of("tensors"));
  const auto read = parse_owner_message(bytes_of(to_json(registration)));
  ASSERT_TRUE(read) << to_string(read.error());
  EXPECT_EQ(std::get<InstanceRegistration>(*read), registration);
  registration.layout = sample_layout();
  EXPECT_EQ(code_of(parsed(registration)), "conflict");
  Json json = to_json(sample());
  json["published"] = "sha256:" + std::string(64, 'a');
  EXPECT_EQ(code_of(parse_instance_registration(json)), "schema-violation");
}

TEST(InstanceRegistration, LayoutOfAnotherModelOrWorld_IsRefused) {
  InstanceRegistration registration = sample();
  registration.layout = sample_layout();
  registration.layout->artifact = ArtifactId(test::digest_of("other"));
  EXPECT_EQ(code_of(parsed(registration)), "artifact-mismatch");
  EXPECT_EQ(where_of(parsed(registration)), "/layout/artifact");
  registration.layout = sample_layout();
  registration.layout->ranks.pop_back();
  EXPECT_EQ(code_of(parsed(registration)), "schema-violation");
  EXPECT_EQ(where_of(parsed(registration)), "/layout/ranks");
  Json json = to_json(sample());
  json["layout"] = 1;
  EXPECT_EQ(code_of(parse_instance_registration(json)), "schema-violation");
  json["layout"] = to_json(sample_layout());
  json["layout"]["ranks"][0]["tensors"][0]["from"] = {{"entry", 1}};
  EXPECT_EQ(where_of(parse_instance_registration(json)), "/layout/ranks/0/tensors/0/from/entry");
}

TEST(InstanceRegistration, PartsOutsideOfTheirPiece_AreRefused) {
  refused([](auto& r) { r.tensors[0].parts[0] = {0, 5, 96}; }, "schema-violation",
          "/tensors/0/parts");
  refused([](auto& r) { r.tensors[0].parts[0] = {3, 0, 96}; }, "schema-violation",
          "/tensors/0/parts");
  refused([](auto& r) { r.tensors[0].parts[0] = {0, 101, 1}; }, "schema-violation",
          "/tensors/0/parts");
  refused([](auto& r) { r.tensors[0].parts[0] = {0, 8, kMaxSafeInteger}; }, "schema-violation",
          "/tensors/0/parts");
  refused([](auto& r) { r.tensors[2].parts = {{0, 0, 0}}; }, "schema-violation",
          "/tensors/2/parts");
}

TEST(InstanceRegistration, BytesThatDtypeAndShapeDoNotSay_AreRefused) {
  refused([](auto& r) { r.tensors[0].shape = {2, 21}; }, "schema-violation", "/tensors/0");
  refused([](auto& r) { r.tensors[1].dtype = "F32"; }, "schema-violation", "/tensors/1");
  refused([](auto& r) { r.tensors[1].dtype = "F33"; }, "schema-violation", "/tensors/1/shape");
  refused([](auto& r) { r.tensors[1].shape = {1U << 30, 1U << 30}; }, "schema-violation",
          "/tensors/1/shape");
}

TEST(InstanceRegistration, PartsThatShareBytes_AreRefused) {
  refused([](auto& r) { r.tensors[3].parts = {{0, 1, 4}}; }, "schema-violation", "/pieces/0");
  refused([](auto& r) { r.tensors[0].parts = {{1, 0, 64}, {0, 4, 32}, {0, 4, 64}}; },
          "schema-violation", "/pieces/0");
}

TEST(InstanceRegistration, PieceWithoutAPart_IsRefused) {
  refused([](auto& r) { r.pieces.push_back({8, PieceKind::kHost, ""}); }, "schema-violation",
          "/pieces/3");
  refused([](auto& r) { r.tensors[1] = {{"norm"}, "F32", {0}, {}}; }, "schema-violation",
          "/pieces/2");
}

TEST(InstanceRegistration, NameThatStandsTwice_IsRefused) {
  refused([](auto& r) { r.tensors[1].names = {"head"}; }, "schema-violation", "/tensors/1/names");
  refused([](auto& r) { r.tensors[0].names = {"a", "a"}; }, "schema-violation", "/tensors/0/names");
}

TEST(InstanceRegistration, KindsOfPieces_GoWithDeviceCauseAndWindow) {
  refused([](auto& r) { r.device = ""; }, "schema-violation", "/device");
  refused([](auto& r) { r.window = 0; }, "schema-violation", "/window");
  refused([](auto& r) { r.pieces[2].cause = ""; }, "schema-violation", "/pieces/2/cause");
  refused([](auto& r) { r.pieces[1].cause = "why"; }, "schema-violation", "/pieces/1/cause");
  refused([](auto& r) { r.window = 4096; }, "schema-violation", "/window");
}

TEST(InstanceRegistration, NumbersBeyondTheirLimits_AreRefused) {
  refused([](auto& r) { r.rank = 2; }, "schema-violation", "/rank");
  refused([](auto& r) { r.world = 1025; }, "schema-violation", "/world");
  refused([](auto& r) { r.instance = "Main"; }, "schema-violation", "/instance");
  refused([](auto& r) { r.instance = ""; }, "schema-violation", "/instance");
  refused([](auto& r) { r.pieces[0].size = r.pieces[1].size = kMaxSafeInteger; }, "limit-exceeded",
          "/pieces/1");
  refused([](auto& r) { r.tensors[0].names.clear(); }, "schema-violation", "/tensors/0/names");
}

TEST(InstanceRegistration, MorePartsThanTheLimit_AreRefused) {
  Json frame = to_json(sample());
  frame["tensors"][2]["parts"] = Json(kMaxInstanceParts, Json::array({0, 0, 1}));
  EXPECT_EQ(code_of(parse_instance_registration(std::move(frame))), "limit-exceeded");
}

// A registration of a model of many pieces fits into what a frame may take once it is parsed.
TEST(InstanceRegistration, AFrameOfManyParts_IsTaken) {
  InstanceRegistration many = sample();
  constexpr std::uint64_t kParts = 600'000;
  many.pieces = {{std::uint64_t{1} << 40, PieceKind::kStaged, "why"}};
  many.window = kStagingWindow;
  many.tensors = {{{"t"}, "U8", {8 * kParts}, {}}};
  for (std::uint64_t i = 0; i < kParts; ++i) {
    many.tensors[0].parts.push_back({0, 100'000'000'000 + 16 * i, 8});
  }
  const std::string frame = to_json(many).dump();
  const auto taken = parse_owner_message(as_bytes(frame));
  EXPECT_TRUE(taken) << to_string(taken.error());
}

// All tensors of the longest manifest in one process, with the names of a mixture of experts and
// pieces as an allocator makes them.
TEST(InstanceRegistration, AFrameOfTheMostTensors_IsTaken) {
  InstanceRegistration many = sample();
  constexpr std::uint64_t kBytes = std::uint64_t{7168} * 2048;
  many.pieces.clear();
  many.tensors.clear();
  for (std::uint64_t i = 0; i < kMaxInstanceTensors; ++i) {
    if (i % 4 == 0) {
      many.pieces.push_back({4 * kBytes, PieceKind::kDevice, ""});
    }
    const std::string name = "model.layers." + std::to_string(3 + i / 1536) + ".mlp.experts." +
                             std::to_string(i / 6 % 256) + ".down_proj.weight_scale_inv" +
                             std::to_string(i % 6);
    many.tensors.push_back({{name}, "F8_E4M3", {7168, 2048}, {{i / 4, i % 4 * kBytes, kBytes}}});
  }
  many.device = "GPU-0";
  many.window = 0;
  const std::string frame = to_json(many).dump();
  EXPECT_GT(frame.size(), std::size_t{19} << 20);
  EXPECT_LT(frame.size(), kMaxOwnerFrame);
  const auto taken = parse_owner_message(as_bytes(frame));
  ASSERT_TRUE(taken) << to_string(taken.error());
  EXPECT_EQ(std::get<InstanceRegistration>(*taken), many);
  Json longer = to_json(sample());
  longer["tensors"] = Json(kMaxInstanceTensors + 1, longer["tensors"][0]);
  EXPECT_EQ(code_of(parse_instance_registration(std::move(longer))), "schema-violation");
}

TEST(InstanceRegistration, AFrameThatTakesFarMoreThanItsLength_IsRefused) {
  std::string frame = R"({"type":"register","tensors":[{})";
  while (frame.size() + 5 < kMaxOwnerFrame) {
    frame += ",{}";
  }
  EXPECT_EQ(code_of(parse_owner_message(as_bytes(frame + "]}"))), "limit-exceeded");
}

TEST(InstanceRegistration, MoreHostPiecesThanAreMapped_AreRefused) {
  InstanceRegistration many = sample();
  many.pieces.assign(4096, {64, PieceKind::kHost, ""});
  many.pieces.push_back({64, PieceKind::kStaged, "why"});
  many.tensors.clear();
  many.window = kStagingWindow;
  for (std::uint64_t i = 0; i < many.pieces.size(); ++i) {
    many.tensors.push_back({{"t" + std::to_string(i)}, "U8", {64}, {{i, 0, 64}}});
  }
  const auto taken = parse_instance_registration(to_json(many));
  EXPECT_TRUE(taken) << to_string(taken.error());
  many.pieces.back() = many.pieces.front();
  many.window = 0;
  EXPECT_EQ(code_of(parse_instance_registration(to_json(many))), "limit-exceeded");
}

TEST(InstanceRegistration, PartsOfAnotherShape_AreRefused) {
  for (const char* part : {"7", "[]", "[0,0]", "[0,0,1,1]", "[0,0,-1]", "[0,0,1.5]", "[0,0,\"1\"]",
                           "[[0],0,1]", "{}"}) {
    Json frame = to_json(sample());
    frame["tensors"][1]["parts"][0] = Json::parse(part);
    EXPECT_EQ(code_of(parse_instance_registration(frame)), "schema-violation") << part;
  }
}

TEST(InstanceMessage, OfAnOwner_ReadBackTheSame) {
  const std::vector<OwnerMessage> messages = {OwnerHello{"assay-torch/0.1"},
                                              sample(),
                                              OwnerPieces{3, 7, 253},
                                              OwnerCopied{4},
                                              OwnerVerify{9},
                                              OwnerFailed{5, "freed"},
                                              OwnerChanged{{"a", "b"}},
                                              OwnerRelease{1},
                                              OwnerYield{2, kMaxYield},
                                              OwnerChanged{{}}};
  for (const OwnerMessage& message : messages) {
    const auto read = parse_owner_message(bytes_of(to_json(message)));
    ASSERT_TRUE(read) << to_string(read.error());
    EXPECT_EQ(*read, message);
    EXPECT_EQ(code_of(parse_agent_message(bytes_of(to_json(message)))), "schema-violation");
  }
}

TEST(InstanceMessage, OfTheAgent_ReadBackTheSame) {
  using Kind = InstanceFinding::Kind;
  const std::vector<AgentMessage> messages = {
      AgentWelcome{"5f1d0c52-6a3c", "ab12"},
      AgentWelcome{"", ""},
      AgentRegistered{"0198f0a2-7c3e-7bbb-8123-456789abcdef"},
      AgentRefused{std::string(kAlreadyRegistered), "another"},
      AgentState{0, InstanceState::kPending, {}, {}},
      AgentState{7,
                 InstanceState::kViolated,
                 test::at("2026-01-02T03:04:05.678Z"),
                 {{Kind::kMissing, "a", ""}, {Kind::kError, "", "why"}}},
      AgentExport{3, {0, 7, 65535}},
      AgentRead{4, 2, 4096, kStagingWindow},
      AgentReleased{8},
      AgentYielded{9, 3, std::chrono::milliseconds(250)}};
  for (const AgentMessage& message : messages) {
    const std::string text = write_agent_message(message);
    const auto read = parse_agent_message(as_bytes(text));
    ASSERT_TRUE(read) << to_string(read.error()) << text;
    EXPECT_EQ(*read, message);
    EXPECT_EQ(code_of(parse_owner_message(as_bytes(text))), "schema-violation");
  }
}

// Findings come from readers of memory and drivers: whatever they say, the frame is valid.
TEST(InstanceMessage, LongOrBrokenFindings_AreCut) {
  AgentState state{0, InstanceState::kUnknown, {}, {}};
  for (int i = 0; i < 20; ++i) {
    state.findings.push_back({InstanceFinding::Kind::kError, "\xff" + std::string(2000, 'a'),
                              "\xc3\xa4" + std::string(511, 'b')});
  }
  state.findings[0].detail = std::string(511, 'b') + "\xc3\xa4";
  const auto read = parse_agent_message(as_bytes(write_agent_message(state)));
  ASSERT_TRUE(read) << to_string(read.error());
  const auto& got = std::get<AgentState>(*read);
  EXPECT_EQ(got.findings.size(), kMaxFrameFindings);
  EXPECT_EQ(got.findings[0].detail, std::string(511, 'b'));
}

TEST(InstanceMessage, OfAnotherVersion_SaysSo) {
  const auto hello = parse_owner_message(as_bytes(R"({"type":"hello","protocol":2,"more":[]})"));
  EXPECT_EQ(code_of(hello), "schema-violation");
  EXPECT_EQ(where_of(hello), "/protocol");
}

TEST(InstanceMessage, YieldsHaveBounds) {
  const auto yield = [](std::int64_t ms) {
    return code_of(
        parse_owner_message(bytes_of({{"type", "yield"}, {"request", 1}, {"max_ms", ms}})));
  };
  EXPECT_EQ(yield(1), "ok");
  EXPECT_EQ(yield(10'000), "ok");
  for (const std::int64_t ms : {-1, 0, 10'001}) {
    EXPECT_EQ(yield(ms), "schema-violation") << ms;
  }
}

TEST(InstanceRegistration, PageOfHints_HasOneSize) {
  InstanceRegistration registration = sample();
  registration.hints = kHintsPage;
  const auto read = parsed(registration);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->hints, kHintsPage);
  EXPECT_FALSE(to_json(sample()).contains("hints"));
  refused([](auto& r) { r.hints = 8192; }, "schema-violation", "/hints");
}

TEST(InstanceMessage, StrictJson) {
  EXPECT_EQ(code_of(parse_owner_message(as_bytes(R"({"type":"verify","request":1,"request":2})"))),
            "duplicate-key");
  EXPECT_EQ(code_of(parse_owner_message(as_bytes(R"({"type":"verify","request":1,"x":2})"))),
            "unknown-member");
  const std::string deep = std::string(kMaxLayoutJsonDepth + 2, '[');
  EXPECT_EQ(code_of(parse_owner_message(as_bytes(deep))), "limit-exceeded");
  EXPECT_EQ(code_of(parse_owner_message(as_bytes("7"))), "schema-violation");
  EXPECT_EQ(code_of(parse_owner_message(as_bytes("{}"))), "schema-violation");
  EXPECT_EQ(code_of(parse_owner_message(as_bytes(""))), "malformed-json");
}

}  // namespace
}  // namespace assay
