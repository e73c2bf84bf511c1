// SPDX-License-Identifier: Apache-2.0
// Manifests, attestations and models through the API; lists and their cursors.

#include <algorithm>

#include <gtest/gtest.h>

#include "schemas/core/merkle.h"
#include "schemas/core/sha.h"
#include "schemas/lifecycle.h"
#include "tests/server/api/fixture.h"

namespace assay::server {
namespace {

using test::ApiAnswer;
using StatementsTest = test::ApiTest;

// The receipt leads from the record to the root of its checkpoint.
void check_receipt(const Json& receipt) {
  const auto checkpoint = parse_checkpoint(receipt["checkpoint"].get<std::string>());
  ASSERT_TRUE(checkpoint);
  std::vector<Digest> path;
  for (const Json& hex : receipt["inclusion"]) {
    path.push_back(Digest::from_hex(HashAlgorithm::kSha256, hex.get<std::string>()).value());
  }
  const Digest leaf =
      Digest::from_hex(HashAlgorithm::kSha256, receipt["leaf_hash"].get<std::string>()).value();
  EXPECT_TRUE(verify_inclusion(leaf, receipt["index"].get<LeafIndex>(),
                               receipt["tree_size"].get<TreeSize>(), path,
                               checkpoint->checkpoint.root));
  EXPECT_EQ(checkpoint->checkpoint.size, receipt["tree_size"].get<TreeSize>());
}

TEST_F(StatementsTest, NewManifest_IsCreatedOnce) {
  const Bytes envelope = signed_manifest(manifest("one"));
  const auto first = post("/v1/manifests", "submitter", envelope);
  ASSERT_EQ(first.status, 201) << first.body;
  const Json view = first.json();
  EXPECT_EQ(view["kind"], "manifest");
  EXPECT_EQ(view["name"], "acme/demo");
  EXPECT_EQ(view["artifact"], id_of(manifest("one")).text());
  EXPECT_EQ(view["signers"][0]["identity"], "release");
  EXPECT_EQ(view["envelopes"], Json::array({DocumentId(sha256(envelope)).text()}));
  EXPECT_EQ(first.header("Location"), "/v1/manifests/" + view["id"].get<std::string>());
  check_receipt(view["log"]);
  EXPECT_EQ(view["signers"][0]["log_index"], view["log"]["index"]);
  EXPECT_EQ(view["record"]["documents"], view["envelopes"]);

  const auto second = post("/v1/manifests", "submitter", envelope);
  EXPECT_EQ(second.status, 200);
  EXPECT_EQ(second.json()["id"], view["id"]);
  EXPECT_EQ(second.header("ETag"), first.header("ETag"));
  check_receipt(second.json()["log"]);
}

TEST_F(StatementsTest, Manifest_IsReadAsViewAndAsExactBytes) {
  const Bytes envelope = signed_manifest(manifest("one"));
  const auto posted = post("/v1/manifests", "submitter", envelope);
  const std::string location = posted.header("Location");
  const auto view = get(location);
  EXPECT_EQ(view.status, 200);
  EXPECT_EQ(view.header("ETag"), posted.header("ETag"));
  const auto exact = get(location, "reader", {{"accept", "application/vnd.dsse.envelope.v1+json"}});
  EXPECT_EQ(exact.status, 200);
  EXPECT_EQ(exact.body, as_text(envelope));
  EXPECT_EQ(exact.content_type, "application/vnd.dsse.envelope.v1+json");
  EXPECT_NE(exact.header("ETag"), view.header("ETag"));
}

TEST_F(StatementsTest, KnownTag_IsNotModified) {
  const std::string location =
      post("/v1/manifests", "submitter", signed_manifest(manifest("one"))).header("Location");
  const std::string tag = get(location).header("ETag");
  for (const std::string& header : {tag, "W/" + tag, "\"a\", " + tag, std::string("*")}) {
    const auto answer = get(location, "reader", {{"if-none-match", header}});
    EXPECT_EQ(answer.status, 304) << header;
    EXPECT_EQ(answer.body, "");
    EXPECT_EQ(answer.header("ETag"), tag);
  }
  EXPECT_EQ(get(location, "reader", {{"if-none-match", "\"a\""}}).status, 200);
}

TEST_F(StatementsTest, WhatIsNotAccepted_HasItsCode) {
  const auto untrusted = make_key(KeyPurpose::kPublisher, "mallory", {publisher_role()});
  EXPECT_EQ(post("/v1/manifests", "submitter", signed_manifest(manifest("a"), {&untrusted})).code(),
            "untrusted-signer");
  EXPECT_EQ(post("/v1/manifests", "submitter", evaluation(manifest("a"), 0.9)).status, 422);
  EXPECT_EQ(post("/v1/attestations", "submitter", signed_manifest(manifest("a"))).status, 422);
  EXPECT_EQ(post("/v1/manifests", "submitter", as_bytes("{}")).status, 400);
  EXPECT_EQ(post("/v1/manifests", "submitter", policy()).status, 422);
}

TEST_F(StatementsTest, Ids_AreStrict) {
  EXPECT_EQ(get("/v1/manifests/abc").code(), "invalid-digest");
  EXPECT_EQ(get("/v1/manifests/" + DocumentId(sha256(as_bytes("x"))).text()).status, 404);
  EXPECT_EQ(get("/v1/manifests/" + StatementId(sha256(as_bytes("x"))).text()).code(), "not-found");
  EXPECT_EQ(get("/v1/models/abc").code(), "invalid-digest");
  EXPECT_EQ(get("/v1/models/" + id_of(manifest("unknown")).text()).status, 404);
}

TEST_F(StatementsTest, StatementOfAnotherKind_IsNotFound) {
  const std::string id = post("/v1/manifests", "submitter", signed_manifest(manifest("one")))
                             .json()["id"]
                             .get<std::string>();
  EXPECT_EQ(get("/v1/attestations/" + id).status, 404);
  EXPECT_EQ(get("/v1/policies/" + id).status, 404);
}

TEST_F(StatementsTest, Filters_NarrowTheList) {
  store_good_model(manifest("one"));
  store_good_model(manifest("two", "acme/other"));
  const std::string artifact = id_of(manifest("one")).text();
  const auto count = [this](const std::string& target) {
    return get(target).json()["items"].size();
  };
  EXPECT_EQ(count("/v1/manifests"), 2U);
  EXPECT_EQ(count("/v1/manifests?name=acme/demo"), 1U);
  EXPECT_EQ(count("/v1/manifests?name=acme"), 0U);
  EXPECT_EQ(count("/v1/manifests?artifact=" + artifact), 1U);
  EXPECT_EQ(count("/v1/manifests?signer=" + publisher_.record.id.text()), 2U);
  EXPECT_EQ(count("/v1/manifests?signer=" + author_.record.id.text()), 0U);
  // Equal approvals are one statement with two signatures.
  EXPECT_EQ(count("/v1/attestations"), 4U);
  EXPECT_EQ(count("/v1/attestations?subject=" + artifact), 2U);
  EXPECT_EQ(count("/v1/attestations?subject=" + artifact + "&stage=approve"), 1U);
  EXPECT_EQ(count("/v1/attestations?predicate_type=https://assay.dev/lifecycle/v1"), 4U);
  EXPECT_EQ(count("/v1/manifests?since=2026-11-21T12:00:00Z&until=2026-11-21T12:00:00.001Z"), 2U);
  EXPECT_EQ(count("/v1/manifests?since=2026-11-21T12:00:00.001Z"), 0U);
  EXPECT_EQ(count("/v1/manifests?until=2026-11-21T12:00:00Z"), 0U);
}

TEST_F(StatementsTest, WrongFilters_AreErrors) {
  EXPECT_EQ(get("/v1/manifests?since=yesterday").code(), "invalid-time");
  EXPECT_EQ(get("/v1/manifests?signer=abc").code(), "invalid-digest");
  EXPECT_EQ(get("/v1/manifests?artifact=sha256:00").code(), "invalid-digest");
  EXPECT_EQ(get("/v1/attestations?subject=abc").code(), "invalid-parameter");
  EXPECT_EQ(get("/v1/manifests?limit=0").code(), "invalid-parameter");
  EXPECT_EQ(get("/v1/manifests?limit=many").code(), "invalid-parameter");
  EXPECT_EQ(get("/v1/manifests?cursor=abc").code(), "invalid-cursor");
}

TEST_F(StatementsTest, Model_ShowsEverythingKnown) {
  store_good_model(manifest("one"));
  const auto answer = get("/v1/models/" + id_of(manifest("one")).text());
  ASSERT_EQ(answer.status, 200);
  const Json model = answer.json();
  EXPECT_EQ(model["names"], Json::array({"acme/demo"}));
  EXPECT_EQ(model["manifests"].size(), 1U);
  EXPECT_EQ(model["attestations"].size(), 2U);
  EXPECT_EQ(model["truncated"], false);
}

class PagesTest : public test::ApiTest {
 protected:
  PagesTest() {
    for (int i = 0; i < 7; ++i) {
      EXPECT_EQ(
          post("/v1/manifests", "submitter", signed_manifest(manifest(std::to_string(i)))).status,
          201);
    }
  }
};

TEST_F(PagesTest, AllPages_AreTheList) {
  const Json whole = get("/v1/manifests").json();
  ASSERT_EQ(whole["items"].size(), 7U);
  EXPECT_FALSE(whole.contains("next_cursor"));
  EXPECT_EQ(whole["limit"], 100);
  for (const std::size_t limit : {1U, 2U, 3U, 7U, 8U}) {
    EXPECT_EQ(Json(pages("/v1/manifests", limit)), whole["items"]) << limit;
  }
  EXPECT_EQ(pages("/v1/manifests?name=acme/demo", 3).size(), 7U);
}

TEST_F(PagesTest, NewItems_DoNotChangeLaterPages) {
  const Json first = get("/v1/manifests?limit=3").json();
  EXPECT_EQ(post("/v1/manifests", "submitter", signed_manifest(manifest("new"))).status, 201);
  std::string cursor = first["next_cursor"].get<std::string>();
  std::size_t seen = first["items"].size();
  while (!cursor.empty()) {
    const Json page = get("/v1/manifests?limit=3&cursor=" + cursor).json();
    seen += page["items"].size();
    cursor = page.value("next_cursor", "");
  }
  EXPECT_EQ(seen, 7U);
}

TEST_F(PagesTest, Cursor_BelongsToItsQuery) {
  const std::string cursor =
      get("/v1/manifests?name=acme/demo&limit=2").json()["next_cursor"].get<std::string>();
  EXPECT_EQ(get("/v1/manifests?name=acme/demo&limit=5&cursor=" + cursor).status, 200);
  EXPECT_EQ(get("/v1/manifests?name=acme/other&cursor=" + cursor).code(), "invalid-cursor");
  EXPECT_EQ(get("/v1/manifests?cursor=" + cursor).code(), "invalid-cursor");
  EXPECT_EQ(get("/v1/attestations?cursor=" + cursor).code(), "invalid-cursor");
}

TEST_F(PagesTest, Link_LeadsToTheNextPage) {
  const auto answer = get("/v1/manifests?name=acme/demo&limit=2");
  const std::string link = answer.header("Link");
  ASSERT_TRUE(link.starts_with("</v1/manifests?")) << link;
  ASSERT_TRUE(link.ends_with(">; rel=\"next\"")) << link;
  const auto next = get(link.substr(1, link.find('>') - 1));
  EXPECT_EQ(next.status, 200);
  EXPECT_EQ(next.json()["items"].size(), 2U);
  EXPECT_EQ(next.json()["limit"], 2);
}

TEST_F(PagesTest, LargeLimit_IsCutAndSaidSo) {
  const auto answer = get("/v1/manifests?limit=5000");
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.json()["limit"], 1000);
}

TEST_F(StatementsTest, LineageThatIsNotReadInTime_IsAProblem) {
  const Manifest model = manifest("one");
  ASSERT_EQ(post("/v1/manifests", "submitter", signed_manifest(model)).status, 201);
  const std::string lineage = "/v1/models/" + id_of(model).text() + "/lineage";
  EXPECT_EQ(get(lineage).status, 200);
  DispatchOptions options;
  options.request_timeout = std::chrono::milliseconds(0);
  make_dispatcher(options);
  for (const char* const query : {"", "?direction=down"}) {
    const auto late = get(lineage + query);
    EXPECT_EQ(late.status, 403) << late.body;
    EXPECT_EQ(late.code(), "evaluation-deadline");
  }
}

TEST_F(StatementsTest, LineageOfMoreThanIsShown_SaysSo) {
  const Manifest model = manifest("one");
  const test::TestKey trainer = make_key(KeyPurpose::kSigner, "trainer", {role("train")});
  ASSERT_TRUE(apply_trust_change(
      *services_, trust_change(1, {AddKey{trainer.record}}, {&operator1_, &operator2_}), actor_));
  std::size_t shard = 0;
  const auto trained_from = [&](std::size_t inputs) {
    Lifecycle lifecycle;
    lifecycle.stage = "train";
    for (std::size_t i = 0; i < inputs; ++i) {
      const std::string hex = sha256(as_bytes("shard " + std::to_string(shard++))).hex();
      lifecycle.inputs.push_back({"dataset", "", {{"sha256", hex}}});
    }
    const auto statement = to_statement(lifecycle, {subject_of(model)});
    const Bytes bytes = statement_envelope(*statement, {&trainer});
    EXPECT_EQ(post("/v1/attestations", "submitter", bytes).status, 201);
    return get("/v1/models/" + id_of(model).text() + "/lineage").json()["reached"];
  };
  EXPECT_EQ(trained_from(1000), Json::array());
  EXPECT_EQ(trained_from(999), Json::array()) << "with the model itself 2,000";
  EXPECT_EQ(trained_from(1), Json::array({"digests"}));
}

}  // namespace
}  // namespace assay::server
