// SPDX-License-Identifier: Apache-2.0
// Imported reference values: who may bring them, in which order, and what becomes of nodes.
#include "schemas/reference_values.h"

#include "attestation/corim/reference_document.h"
#include "server/service/nodes/reappraise.h"
#include "tests/server/service/node_fixture.h"
#include "tests/support/corim.h"
#include "tests/support/vectors.h"

namespace assay::server::test {
namespace {

namespace corim = attestation::corim;
using assay::test::code_of;
using assay::test::CorimSpec;
using assay::test::make_corim;
using assay::test::sha384_of;

class ReferenceValues : public NodeTest {
 protected:
  ReferenceValues() {
    Appraisal appraisal = simulator_appraisal();
    appraisal.policy = Json::object();
    put_appraisal(appraisal);
    EXPECT_TRUE(change_trust({AddKey{vendor_.record}, AddKey{other_vendor_.record},
                              AddKey{narrow_.record}, AddKey{evaluator_key_.record}}));
  }

  static SignerRole references(const std::string& name_space) {
    return {"*", std::string(kReferenceValuesPredicate), name_space};
  }
  // What runs on the simulated nodes; `image` is another one.
  CorimSpec spec(std::uint64_t version = 1, bool right = true) const {
    const attestation::tdx::SimulationSpec simulated = platform();
    const auto& report = simulated.quote.report;
    const auto bytes = [&](const auto& value) {
      return right ? Bytes(value.begin(), value.end()) : sha384_of(0x77);
    };
    CorimSpec made;
    made.version = version;
    made.triples = {{.digests = {{"mrtd", bytes(report.mrtd)},
                                 {"rtmr0", bytes(report.rtmr[0])},
                                 {"rtmr1", bytes(report.rtmr[1])},
                                 {"rtmr2", bytes(report.rtmr[2])}}}};
    return made;
  }
  static Bytes signed_by(const CorimSpec& spec, const TestKey& key) {
    return corim::sign_reference_document(make_corim(spec), *key.signer).value();
  }
  static PutReferenceValues put(Bytes document, bool is_unsigned = false) {
    return {"tdx", {}, std::move(document), is_unsigned};
  }
  static RemoveReferenceValues removal(bool unconstrain = false) {
    return {"tdx", {}, "acme.example/os-image", "a hole in the kernel", unconstrain};
  }
  std::string import(Bytes document, bool is_unsigned = false) {
    return code_of(change_trust({put(std::move(document), is_unsigned)}));
  }
  std::vector<ReferenceTag> tags() { return store_->snapshot().value()->reference_tags().value(); }
  std::string enrolled(const Worker& worker) {
    return code_of(enrol(*services_, good_enrolment(worker), worker.principal));
  }
  void catch_up() {
    while (true) {
      const auto done = reappraise(*services_, 100);
      ASSERT_TRUE(done) << to_string(done.error());
      if (*done == 0) {
        return;
      }
    }
  }
  policy::NodeFact fact(const Worker& worker) {
    policy::Facts facts;
    const auto snapshot = store_->snapshot().value();
    policy::Workload workload;
    workload.node = worker.node;
    EXPECT_TRUE(collect_node(*services_, *snapshot, {workload}, facts));
    return facts.node.value();
  }

  TestKey vendor_ = make_key(KeyPurpose::kSigner, "vendor", {references("acme.example")});
  TestKey other_vendor_ = make_key(KeyPurpose::kSigner, "other", {references("*")});
  TestKey narrow_ = make_key(KeyPurpose::kSigner, "narrow", {references("acme.example/other")});
  TestKey evaluator_key_ = make_key(KeyPurpose::kSigner, "eva2", {role("evaluate", "*")});
};

TEST_F(ReferenceValues, SignedCorim_LetsNodesEnrol_AndTheFactSaysWhatMatched) {
  EXPECT_EQ(enrolled(worker_), "evidence-rejected");
  ASSERT_EQ(import(signed_by(spec(), vendor_)), "ok");
  ASSERT_EQ(enrolled(worker_), "ok");
  const policy::NodeFact node = fact(worker_);
  EXPECT_TRUE(node.appraisal_current);
  const std::vector<std::string> name = {"acme.example/os-image@1:Intel TDX#1"};
  EXPECT_EQ(node.matched.at("mrtd"), name);
  EXPECT_EQ(node.matched.at("rtmr2"), name);
  ASSERT_EQ(tags().size(), 1U);
  EXPECT_EQ(tags()[0].key, vendor_.record.id);
  EXPECT_EQ(tags()[0].constrains, (std::vector<std::string>{"mrtd", "rtmr0", "rtmr1", "rtmr2"}));
  // The exact bytes are kept.
  const DocumentId id = tags()[0].document;
  const auto stored = store_->snapshot().value()->document(id);
  ASSERT_TRUE(stored) << to_string(stored.error());
  const storage::Document& document = *stored;
  EXPECT_EQ(document.media_type, corim::kSignedType);
  EXPECT_EQ(code_of(corim::read_reference_document(document.bytes)), "ok");
}

TEST_F(ReferenceValues, SurvivesARestart) {
  ASSERT_EQ(import(signed_by(spec(), vendor_)), "ok");
  const auto before = tags();
  const DocumentId id = store_->snapshot().value()->appraisal_id("tdx").value();
  reopen();
  EXPECT_EQ(tags(), before);
  EXPECT_EQ(store_->snapshot().value()->appraisal_id("tdx").value(), id);
}

TEST_F(ReferenceValues, Removal_EndsWhatItAccepted) {
  ASSERT_EQ(import(signed_by(spec(), vendor_)), "ok");
  ASSERT_EQ(enrolled(worker_), "ok");
  ASSERT_EQ(code_of(change_trust({removal()})), "ok");
  EXPECT_FALSE(fact(worker_).appraisal_current) << "stale at once";
  catch_up();
  EXPECT_EQ(fact(worker_).appraisal_error, "TD_MRTD_MISMATCH");
  EXPECT_FALSE(fact(worker_).worker_measured);
  EXPECT_TRUE(fact(worker_).matched.empty());
  EXPECT_EQ(enrolled(other_), "evidence-rejected");
  EXPECT_EQ(code_of(change_trust({removal()})), "conflict");
  // The same version may come back; with it the node.
  ASSERT_EQ(import(signed_by(spec(), vendor_)), "ok");
  catch_up();
  EXPECT_TRUE(fact(worker_).worker_measured);
}

// Where missing reference values are waived, removal must not open what was closed.
TEST_F(ReferenceValues, Removal_NeverLoosens_UnlessItSaysSo) {
  Appraisal waived = simulator_appraisal();
  waived.policy = Json::object();
  waived.dangerous_allow_missing_reference_values = true;
  put_appraisal(waived);
  ASSERT_EQ(import(signed_by(spec(1, false), vendor_)), "ok");
  EXPECT_EQ(enrolled(worker_), "evidence-rejected");
  ASSERT_EQ(code_of(change_trust({removal()})), "ok");
  EXPECT_EQ(enrolled(worker_), "evidence-rejected");
  ASSERT_EQ(code_of(change_trust({removal(true)})), "ok");
  EXPECT_EQ(enrolled(worker_), "ok");
  EXPECT_EQ(code_of(change_trust({removal(true)})), "conflict");
}

TEST_F(ReferenceValues, HigherVersion_Replaces_LowerIsRefused) {
  ASSERT_EQ(import(signed_by(spec(2), vendor_)), "ok");
  ASSERT_EQ(enrolled(worker_), "ok");
  EXPECT_EQ(import(signed_by(spec(1), vendor_)), "reference-rollback");
  EXPECT_EQ(import(signed_by(spec(2), vendor_)), "reference-rollback") << "in force already";
  EXPECT_EQ(import(signed_by(spec(2, false), vendor_)), "reference-rollback");
  ASSERT_EQ(import(signed_by(spec(3, false), vendor_)), "ok");
  catch_up();
  EXPECT_EQ(fact(worker_).appraisal_error, "TD_MRTD_MISMATCH");
  // Nor does removal bring the old ones back.
  ASSERT_EQ(code_of(change_trust({removal()})), "ok");
  EXPECT_EQ(import(signed_by(spec(2), vendor_)), "reference-rollback");
  EXPECT_EQ(import(signed_by(spec(3), vendor_)), "reference-rollback") << "other values";
  EXPECT_EQ(import(signed_by(spec(4), vendor_)), "ok");
}

// A later version that says nothing of a register must not free it.
TEST_F(ReferenceValues, NewVersion_KeepsWhatTheOldOneConstrained) {
  CorimSpec with = spec(1);
  with.triples[0].digests["rtmr3"] = sha384_of(0x77);
  ASSERT_EQ(import(signed_by(with, vendor_)), "ok");
  EXPECT_EQ(enrolled(worker_), "evidence-rejected");
  ASSERT_EQ(import(signed_by(spec(2), vendor_)), "ok");
  EXPECT_EQ(enrolled(worker_), "evidence-rejected");
  ASSERT_EQ(code_of(change_trust({removal(true), put(signed_by(spec(2), vendor_))})), "ok");
  EXPECT_EQ(enrolled(worker_), "ok");
}

TEST_F(ReferenceValues, Signer_MustBeTrustedForTheTag) {
  const TestKey stranger = make_key(KeyPurpose::kSigner, "stranger", {references("*")});
  EXPECT_EQ(import(signed_by(spec(), stranger)), "untrusted-signer");
  EXPECT_EQ(import(signed_by(spec(), narrow_)), "role-not-granted");
  EXPECT_EQ(import(signed_by(spec(), evaluator_key_)), "role-not-granted");
  EXPECT_EQ(import(signed_by(spec(), operator1_)), "wrong-purpose");
  Bytes flipped = signed_by(spec(), vendor_);
  flipped.back() ^= 1;
  EXPECT_EQ(import(flipped), "signature-invalid");
  EXPECT_TRUE(tags().empty());
}

TEST_F(ReferenceValues, Unsigned_OnlyWhenTheOperatorsSaySo) {
  EXPECT_EQ(import(make_corim(spec())), "reference-unsigned");
  EXPECT_EQ(import(signed_by(spec(), vendor_), true), "reference-unsigned");
  EXPECT_TRUE(tags().empty());
  EXPECT_EQ(import(make_corim(spec()), true), "ok");
  EXPECT_EQ(tags()[0].key, std::nullopt);
  EXPECT_EQ(enrolled(worker_), "ok");
}

TEST_F(ReferenceValues, TwoOperators_AreNeeded) {
  const auto epochs = store_->snapshot().value()->epochs().value();
  const auto alone =
      apply_trust_change(*services_,
                         trust_change(epochs.trust.trust + 1, {put(make_corim(spec()), true)},
                                      {&operator1_, &operator1_second_}),
                         actor_);
  EXPECT_EQ(code_of(alone), "threshold-not-met");
}

// A name that two share: who brought the tag keeps it.
TEST_F(ReferenceValues, AnotherHolder_DoesNotReplaceATagInForce) {
  ASSERT_EQ(import(signed_by(spec(1), vendor_)), "ok");
  EXPECT_EQ(import(signed_by(spec(2), other_vendor_)), "conflict");
  EXPECT_EQ(import(make_corim(spec(2)), true), "conflict");
  ASSERT_EQ(code_of(change_trust({removal()})), "ok");
  EXPECT_EQ(import(signed_by(spec(2), other_vendor_)), "ok");
}

TEST_F(ReferenceValues, RevokedSigner_TakesItsValuesAlong) {
  ASSERT_EQ(import(signed_by(spec(), vendor_)), "ok");
  ASSERT_EQ(enrolled(worker_), "ok");
  ASSERT_EQ(code_of(change_trust({RevokeKey{vendor_.record.id, "stolen"}})), "ok");
  EXPECT_FALSE(tags()[0].removed.empty());
  catch_up();
  EXPECT_EQ(fact(worker_).appraisal_error, "TD_MRTD_MISMATCH");
  EXPECT_EQ(import(signed_by(spec(2), vendor_)), "key-revoked");
}

// One change that revokes the key and brings values by it.
TEST_F(ReferenceValues, RevocationInTheSameChange_Counts) {
  EXPECT_EQ(code_of(change_trust(
                {RevokeKey{vendor_.record.id, "stolen"}, put(signed_by(spec(), vendor_))})),
            "key-revoked");
  EXPECT_TRUE(tags().empty());
  ASSERT_EQ(code_of(change_trust(
                {put(signed_by(spec(), vendor_)), RevokeKey{vendor_.record.id, "stolen"}})),
            "ok");
  EXPECT_FALSE(tags()[0].removed.empty());
}

TEST_F(ReferenceValues, Stages_HaveTheirOwn) {
  PutReferenceValues train = put(signed_by(spec(), vendor_));
  train.stage = "train";
  EXPECT_EQ(code_of(change_trust({train})), "conflict") << "no appraisal of that stage";
  Appraisal appraisal = simulator_appraisal();
  appraisal.policy = Json::object();
  appraisal.stage = "train";
  ASSERT_EQ(code_of(change_trust({PutAppraisal{appraisal}, train})), "ok");
  EXPECT_EQ(tags()[0].appraisal, "tdx/train");
  EXPECT_EQ(enrolled(worker_), "evidence-rejected") << "nodes run other software";
}

TEST_F(ReferenceValues, ReplacedTag_MustGoFirst) {
  ASSERT_EQ(import(signed_by(spec(), vendor_)), "ok");
  CorimSpec next = spec();
  next.tag_id = "acme.example/new-image";
  next.replaces = "acme.example/os-image";
  EXPECT_EQ(import(signed_by(next, vendor_)), "conflict");
  EXPECT_EQ(code_of(change_trust({removal(), put(signed_by(next, vendor_))})), "ok");
}

TEST_F(ReferenceValues, OutsideOfTheirValidity_TheyAreRefusedAndEndEnrolments) {
  const auto now = std::chrono::floor<std::chrono::seconds>(clock_.now()).time_since_epoch();
  CorimSpec over = spec();
  over.not_after = now.count() - 1;
  EXPECT_EQ(import(signed_by(over, vendor_)), "reference-expired");
  CorimSpec early = spec();
  early.not_before = now.count() + 60;
  early.not_after = now.count() + 120;
  EXPECT_EQ(import(signed_by(early, vendor_)), "reference-expired");
  CorimSpec brief = spec();
  brief.not_after = now.count() + 60;
  ASSERT_EQ(import(signed_by(brief, vendor_)), "ok");
  ASSERT_EQ(enrolled(worker_), "ok");
  EXPECT_LE(fact(worker_).expires_at, Timestamp(now + std::chrono::seconds(60)));
}

// Every kind of bad input leaves nothing behind.
TEST_F(ReferenceValues, BadDocuments_AreRefusedByName) {
  const TreeSize size = log_size();
  CorimSpec other_class = spec();
  other_class.triples[0].model = "SGX";
  CorimSpec snp;
  snp.triples = {{"AMD", "SEV-SNP", {{"measurement", sha384_of(1)}}}};
  const std::map<std::string, std::pair<std::string, Bytes>> cases = {
      {"empty", {"schema-violation", {}}},
      {"1 MiB", {"schema-violation", Bytes(1U << 20, 0x80)}},
      {"one byte", {"malformed-corim", Bytes{0x80}}},
      {"duplicate keys",
       {"malformed-cbor", *hex_decode("d901f5a200610100"
                                      "6102")}},
      {"indefinite length", {"malformed-cbor", *hex_decode("d901f5bfff")}},
      {"nested deeply", {"malformed-cbor", Bytes(10'000, 0x81)}},
      {"of another class", {"reference-class-mismatch", make_corim(other_class)}},
      {"of another type", {"reference-class-mismatch", make_corim(snp)}},
      {"a wrong tag", {"malformed-corim", *hex_decode("d901f4a0")}}};
  for (const auto& [why, one] : cases) {
    EXPECT_EQ(import(one.second, true), one.first) << why;
  }
  EXPECT_TRUE(tags().empty());
  EXPECT_EQ(log_size(), size);
}

// The log names what came and went; the change itself stands beside the record.
TEST_F(ReferenceValues, Log_SaysWhatHappened) {
  ASSERT_EQ(import(signed_by(spec(), vendor_)), "ok");
  const auto snapshot = store_->snapshot().value();
  const auto bytes = snapshot->log_record(snapshot->log_state()->size - 1);
  ASSERT_TRUE(bytes) << to_string(bytes.error());
  const auto record = parse_log_record(*bytes);
  ASSERT_TRUE(record) << to_string(record.error());
  const Json& operation = record->detail["operations"][0];
  EXPECT_EQ(operation["op"], "put-reference-values");
  EXPECT_EQ(operation["tags"][0], "acme.example/os-image@1");
  EXPECT_EQ(operation["key_id"], vendor_.record.id.text());
}

}  // namespace
}  // namespace assay::server::test
