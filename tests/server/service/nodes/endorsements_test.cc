// SPDX-License-Identifier: Apache-2.0
// Bundles of collateral that two operators sign: who may give one, which number is taken, and what
// a RIM of a bundle counts for.
#include "server/service/nodes/endorsements.h"

#include "attestation/simulate/nvidia_machine.h"
#include "schemas/core/sha.h"
#include "schemas/endorsements.h"
#include "schemas/log_record.h"
#include "server/service/decisions/collect_node.h"
#include "server/service/nodes/devices.h"
#include "server/service/nodes/reappraise.h"
#include "tests/server/service/node_fixture.h"
#include "tests/support/vectors.h"

namespace assay::server::test {
namespace {

using assay::test::code_of;
using attestation::SimulatedGpus;
using attestation::SimulatedMachine;
using Signers = std::initializer_list<const TestKey*>;

class EndorsementsTest : public NodeTest {
 protected:
  EndorsementsTest() {
    Appraisal appraisal;
    appraisal.evidence_type = kNvidiaEvidence;
    appraisal.policy = Json::object();
    appraisal.dangerous_anchors = {machine("", {}).root};
    put_appraisal(appraisal);
  }

  SimulatedMachine machine(const std::string& fault, const Nonce& nonce) const {
    SimulatedGpus gpus;
    gpus.seed = to_bytes("GPUs of a bundle");
    gpus.fault = fault;
    return attestation::simulate_machine(gpus, clock_.now(), nonce).value();
  }
  EndorsedCollateral gpus(const std::string& fault = "") const {
    return {std::string(kNvidiaEvidence), machine(fault, {}).collateral};
  }
  EndorsedCollateral platform_family() const {
    return {std::string(kTdxEvidence), evidence_for(ReportDataBytes{}).collateral};
  }
  Endorsements bundle(std::uint64_t number, std::vector<EndorsedCollateral> collateral) const {
    return {number, clock_.now(), std::move(collateral)};
  }
  Bytes signed_by(const Endorsements& bundle, Signers keys) const {
    return envelope(kEndorsementsPayloadType, canonical_json(to_json(bundle)).value(), keys);
  }
  Bytes signed_by_both(const Endorsements& bundle) const {
    return signed_by(bundle, {&operator1_, &operator2_});
  }
  Result<EndorsementsAccepted> give(ByteView envelope) {
    return accept_endorsements(*services_, envelope, actor_);
  }
  Result<EndorsementsAccepted> give(const Endorsements& bundle) {
    return give(signed_by_both(bundle));
  }
  Result<CollateralImported> import(const EndorsedCollateral& one) {
    const std::string body = Json{{"type", one.type}, {"collateral", one.collateral}}.dump();
    return import_collateral(*services_, as_bytes(body), actor_);
  }

  // A node with one GPU; why it is refused.
  std::string enrol_gpu(const std::string& fault) {
    const auto enrolled = enrol_with(worker_, [this, fault](Enrolment& made) {
      const Nonce nonce = device_nonce(made.nonce, made.public_key);
      const auto device = machine(fault, nonce).devices.front();
      made.device_evidence = {
          {device.uuid, {std::string(kNvidiaEvidence), to_bytes(device.evidence.dump()), {}, {}}}};
      made.request.devices = {sha256(made.device_evidence.front().evidence.quote)};
    });
    return enrolled ? "" : enrolled.error().detail.substr(0, enrolled.error().detail.find(':'));
  }
  std::string enrol_old_gpu() { return enrol_gpu("expired-rim"); }  // its driver's RIM has ended
  std::size_t attested() {
    policy::Facts facts;
    policy::Workload workload;
    workload.node = worker_.node;
    EXPECT_TRUE(collect_node(*services_, *store_->snapshot().value(), {workload}, facts));
    return static_cast<std::size_t>(
        std::ranges::count_if(facts.node->devices, [&](const policy::DeviceFact& device) {
          return policy::is_attested(*facts.node, device, clock_.now());
        }));
  }
  void catch_up() {
    for (std::size_t done = 1; done != 0;) {
      done = reappraise(*services_, 100).value();
    }
  }
  Json items() { return collateral_view(*store_->snapshot().value(), "", 100).value(); }
  std::string way_of(const std::string& kind) {
    const Json kept = items();
    for (const Json& part : kept) {
      if (part["kind"] == kind) {
        return part["way"];
      }
    }
    return "none";
  }
  std::uint64_t newest() {
    return endorsements_view(*store_->snapshot().value()).value()["number"];
  }
  LogRecord record(const Json& receipt) {
    const auto snapshot = store_->snapshot().value();
    return parse_log_record(snapshot->log_record(receipt["index"].get<LeafIndex>()).value())
        .value();
  }
};

TEST_F(EndorsementsTest, OfTwoOperators_AreKeptWhole_AndLogged) {
  const Bytes envelope = signed_by_both(bundle(7, {platform_family(), gpus()}));
  const auto accepted = give(envelope);
  ASSERT_TRUE(accepted) << to_string(accepted.error());
  EXPECT_TRUE(accepted->created);
  EXPECT_EQ(accepted->number, 7);
  EXPECT_EQ(items().size(), accepted->parts.size());
  for (const ImportedPart& part : accepted->parts) {
    EXPECT_EQ(part.outcome, "moved") << part.name;
  }
  const Json kept = items();
  for (const Json& item : kept) {
    EXPECT_EQ(item["way"], "bundle") << item;
  }
  const LogRecord logged = record(accepted->receipt);
  EXPECT_EQ(logged.type, "collateral.accepted");
  EXPECT_EQ(logged.documents, std::vector{DocumentId(sha256(envelope))});
  EXPECT_EQ(logged.detail["operators"], Json({"olga", "omar"}));
  EXPECT_EQ(logged.detail["bundle"], accepted->id.text());
  EXPECT_EQ(logged.detail["parts"][0]["mark"], 7) << "a repair raises it again";
  const Json view = endorsements_view(*store_->snapshot().value()).value();
  EXPECT_EQ(view, Json({{"number", 7}, {"envelope", DocumentId(sha256(envelope)).text()}}));

  const TreeSize size = log_size();
  const auto again = give(envelope);
  ASSERT_TRUE(again) << to_string(again.error());
  EXPECT_FALSE(again->created);
  EXPECT_EQ(log_size(), size);
}

TEST_F(EndorsementsTest, NotOfTwoOperators_AreRefused) {
  const Endorsements good = bundle(1, {gpus()});
  const Bytes whole = signed_by_both(good);
  Json flipped = parse_json(whole).value();
  Endorsements other = good;
  other.number = 2;
  flipped["payload"] = base64_encode(as_bytes(canonical_json(to_json(other)).value()));
  const TestKey stranger = make_key(KeyPurpose::kOperator, "olaf");
  struct Case {
    const char* name;
    Bytes envelope;
    std::string code;
  };
  const std::vector<Case> cases = {
      {"one operator", signed_by(good, {&operator1_}), "threshold-not-met"},
      {"one operator with two keys", signed_by(good, {&operator1_, &operator1_second_}),
       "threshold-not-met"},
      {"an operator and a publisher", signed_by(good, {&operator1_, &publisher_}),
       "threshold-not-met"},
      {"an operator and somebody unknown", signed_by(good, {&operator1_, &stranger}),
       "threshold-not-met"},
      {"nobody known", signed_by(good, {&stranger}), "untrusted-signer"},
      {"signatures of another bundle", to_bytes(flipped.dump()), "signature-invalid"},
      {"signed as a change of trust",
       envelope(kTrustChangePayloadType, canonical_json(to_json(good)).value(),
                {&operator1_, &operator2_}),
       "payload-type-unknown"},
      {"no envelope", to_bytes("{"), "malformed-json"},
  };
  for (const Case& one : cases) {
    EXPECT_EQ(code_of(give(one.envelope)), one.code) << one.name;
  }
  EXPECT_EQ(items(), Json::array());
  EXPECT_EQ(newest(), 0);
}

// long-function: a table of bundles with one thing wrong each
TEST_F(EndorsementsTest, WithAnythingWrongInside_AreRefusedWhole) {
  const Endorsements good = bundle(3, {platform_family(), gpus()});
  const auto changed = [&](const Change<Json>& change) {
    Json json = to_json(good);
    change(json);
    return envelope(kEndorsementsPayloadType, canonical_json(json).value(),
                    {&operator1_, &operator2_});
  };
  const auto first_of = [](Json& json, const std::string& prefix) -> Json& {
    Json& members = json["collateral"][1]["collateral"];
    return *std::find_if(members.begin(), members.end(), [&](const Json& text) {
      return text.get<std::string>().starts_with(prefix);
    });
  };
  struct Case {
    const char* name;
    Change<Json> change;
    std::string code;
    std::string where{};
  };
  const std::vector<Case> cases = {
      {"a RIM that was changed",
       [&](Json& json) {
         std::string text = first_of(json, "<");
         text.insert(text.find("Measurement"), "x");
         first_of(json, "<") = text;
       },
       "collateral-refused", "/collateral/1/collateral/rim/"},
      {"a TCB info that was changed",
       [](Json& json) {
         std::string& text =
             json["collateral"][0]["collateral"]["tcb_info"].get_ref<std::string&>();
         text.replace(text.find("UpToDate"), 8, "DateToUp");
       },
       "collateral-refused", "/collateral/0/"},
      {"the word that a RIM counts beyond its end",
       [](Json& json) {
         json["collateral"][1]["collateral"]["vouched/NV_GPU_DRIVER_GH100_600.1"] =
             "sha256:" + std::string(64, 'a');
       },
       "unknown-member", "/collateral/1/collateral/vouched/NV_GPU_DRIVER_GH100_600.1"},
      {"collateral of a type that has none",
       [](Json& json) { json["collateral"][0]["type"] = "plug-in"; }, "evidence-type-unknown",
       "/collateral/0"},
      {"no collateral", [](Json& json) { json["collateral"] = Json::array(); }, "schema-violation",
       "/collateral"},
      {"number 0", [](Json& json) { json["number"] = 0; }, "schema-violation", "/number"},
      {"another member", [](Json& json) { json["operators"] = "us"; }, "unknown-member",
       "/operators"},
  };
  for (const Case& one : cases) {
    const auto given = give(changed(one.change));
    EXPECT_EQ(code_of(given), one.code) << one.name;
    if (!given) {
      EXPECT_TRUE(given.error().where.starts_with(one.where)) << one.name << given.error().where;
    }
    EXPECT_EQ(items(), Json::array()) << one.name;
  }
  EXPECT_EQ(newest(), 0);
  clock_.advance(std::chrono::hours(24 * 40));
  EXPECT_EQ(code_of(give(good)), "collateral-refused") << "it ended on the way";
  EXPECT_EQ(items(), Json::array());
}

TEST_F(EndorsementsTest, LongBundles_AreRefusedBeforeTheyAreRead) {
  const std::string text = R"({"number":1,"made_at":")" + std::string(kMaxEndorsementsBytes, 'a') +
                           R"(","collateral":[]})";
  EXPECT_EQ(code_of(give(envelope(kEndorsementsPayloadType, text, {&operator1_, &operator2_}))),
            "limit-exceeded");
}

TEST_F(EndorsementsTest, OlderOnes_AreRefused_WithBothNumbers) {
  ASSERT_TRUE(give(bundle(7, {gpus()})));
  const Json before = items();
  const TreeSize size = log_size();
  const auto older = give(bundle(6, {gpus(), platform_family()}));
  EXPECT_EQ(code_of(older), "collateral-rollback");
  EXPECT_NE(older.error().detail.find("7"), std::string::npos) << older.error().detail;
  EXPECT_NE(older.error().detail.find("6"), std::string::npos);
  EXPECT_EQ(code_of(give(bundle(7, {platform_family()}))), "collateral-rollback");
  EXPECT_EQ(items(), before);
  EXPECT_EQ(log_size(), size);
  EXPECT_TRUE(give(bundle(8, {gpus(), platform_family()})));
  EXPECT_EQ(newest(), 8);
}

// The number says which bundle is newer. Each part says for itself which of two is.
TEST_F(EndorsementsTest, OlderPartsOfANewerBundle_ChangeNothing) {
  const EndorsedCollateral old = platform_family();
  clock_.advance(std::chrono::hours(1));
  const Change<attestation::tdx::SimulationSpec> newer =
      [](attestation::tdx::SimulationSpec& spec) {
        spec.root_crl.this_update += std::chrono::seconds(1);
        spec.pck_crl.this_update += std::chrono::seconds(1);
        spec.tcb_info["tcbEvaluationDataNumber"] = 40;
        spec.qe_identity["tcbEvaluationDataNumber"] = 40;
      };
  ASSERT_TRUE(import({std::string(kTdxEvidence), evidence_for({}, newer).collateral}));
  const Json before = items();
  const auto accepted = give(bundle(1, {old}));
  ASSERT_TRUE(accepted) << to_string(accepted.error());
  for (const ImportedPart& part : accepted->parts) {
    EXPECT_EQ(part.outcome, "kept") << part.name;
  }
  EXPECT_EQ(items(), before);
}

TEST_F(EndorsementsTest, RimThatEnded_CountsByABundle_AndNotByAnImport) {
  ASSERT_TRUE(import(gpus("expired-rim")));
  EXPECT_EQ(enrol_old_gpu(), "RIM_EXPIRED");
  const auto accepted = give(bundle(1, {gpus("expired-rim")}));
  ASSERT_TRUE(accepted) << to_string(accepted.error());
  EXPECT_EQ(enrol_old_gpu(), "");
  EXPECT_EQ(attested(), 1);
  EXPECT_EQ(way_of("rim"), "bundle");

  // Nobody takes the word back by importing the same again, or an older bundle.
  ASSERT_TRUE(import(gpus("expired-rim")));
  EXPECT_EQ(way_of("rim"), "bundle");
  EXPECT_EQ(attested(), 1);
}

TEST_F(EndorsementsTest, NewNumberAlone_LeavesEvidenceCurrent) {
  ASSERT_TRUE(give(bundle(1, {gpus("expired-rim")})));
  EXPECT_EQ(enrol_old_gpu(), "");
  ASSERT_TRUE(give(bundle(2, {gpus("expired-rim")})));
  EXPECT_EQ(attested(), 1);
  catch_up();
  EXPECT_EQ(attested(), 1);
}

// A bundle takes its word back between the choice of collateral and the record of the appraisal.
TEST_F(EndorsementsTest, WordThatEndedSinceItWasChosen_IsNotRecorded) {
  ASSERT_TRUE(give(bundle(1, {gpus("expired-rim")})));
  const auto device = machine("expired-rim", {}).devices.front();
  const Evidence evidence{
      std::string(kNvidiaEvidence), to_bytes(device.evidence.dump()), {}, Json()};
  const auto choose = [&] {
    const auto snapshot = store_->snapshot().value();
    const Appraisal appraisal = snapshot->appraisal(std::string(kNvidiaEvidence)).value();
    return choose_collateral(*services_, *snapshot, evidence, appraisal);
  };
  const auto chosen = choose();
  ASSERT_TRUE(chosen) << to_string(chosen.error());
  const auto advance = [&] {
    return store_->write([&](storage::Transaction& transaction) -> Status {
      ASSAY_TRY(advance_collateral(transaction, *chosen, {"node-agent-1", kWithEvidence}));
      return {};
    });
  };
  ASSERT_TRUE(advance());
  const auto next = give(bundle(2, {platform_family()}));
  ASSERT_TRUE(next) << to_string(next.error());
  EXPECT_EQ(code_of(advance()), "unavailable");
}

TEST_F(EndorsementsTest, AnswersThatEndedOnTheWay_CountAsLongAsThePolicySays) {
  const Endorsements carried = bundle(1, {gpus()});
  clock_.advance(std::chrono::hours(24 * 30));
  EXPECT_EQ(code_of(import(carried.collateral.front())), "collateral-refused");
  const auto accepted = give(carried);
  ASSERT_TRUE(accepted) << to_string(accepted.error());
  EXPECT_EQ(enrol_gpu(""), "REVOCATION_UNKNOWN");
  Appraisal appraisal;
  appraisal.evidence_type = kNvidiaEvidence;
  appraisal.policy = {{"ocsp_grace_seconds", 7 * 86'400}};
  appraisal.dangerous_anchors = {machine("", {}).root};
  put_appraisal(appraisal);
  EXPECT_EQ(enrol_gpu(""), "");
}

// A fleet: each device has certificates of its own.
TEST_F(EndorsementsTest, ManyParts_AreLoggedInSeveralRecords) {
  SimulatedGpus fleet;
  fleet.seed = to_bytes("GPUs of a bundle");
  fleet.count = 14;
  const Json collateral = attestation::simulate_machine(fleet, clock_.now(), {})->collateral;
  const TreeSize size = log_size();
  const auto accepted = give(bundle(1, {{std::string(kNvidiaEvidence), collateral}}));
  ASSERT_TRUE(accepted) << to_string(accepted.error());
  EXPECT_GT(accepted->parts.size(), 16U);
  EXPECT_EQ(log_size(), size + 3);
  EXPECT_EQ(items().size(), accepted->parts.size());
}

TEST_F(EndorsementsTest, RimThatTheNewestBundleLeavesOut_CountsNoLongerBeyondItsEnd) {
  ASSERT_TRUE(give(bundle(1, {gpus("expired-rim")})));
  EXPECT_EQ(enrol_old_gpu(), "");
  const auto next = give(bundle(2, {platform_family()}));
  ASSERT_TRUE(next) << to_string(next.error());
  EXPECT_TRUE(std::ranges::any_of(
      next->parts, [](const ImportedPart& part) { return part.outcome == "unvouched"; }));
  EXPECT_EQ(way_of("rim"), "import");
  EXPECT_EQ(attested(), 0) << "at once";
  catch_up();
  EXPECT_EQ(attested(), 0);
  EXPECT_EQ(enrol_old_gpu(), "RIM_EXPIRED");
  EXPECT_EQ(code_of(give(bundle(1, {gpus("expired-rim")}))), "collateral-rollback");
  EXPECT_EQ(enrol_old_gpu(), "RIM_EXPIRED");
}

TEST_F(EndorsementsTest, RimsOfABundle_AreNoEnds) {
  ASSERT_TRUE(give(bundle(1, {gpus("expired-rim")})));
  const auto ends = collateral_ends(*store_->snapshot().value(), clock_.now()).value();
  EXPECT_FALSE(ends.empty());
  EXPECT_TRUE(
      std::ranges::none_of(ends, [](const CollateralEnd& end) { return end.kind == "rim"; }));
}

}  // namespace
}  // namespace assay::server::test
