// SPDX-License-Identifier: Apache-2.0
// Every member of a good bundle of each kind is changed, and is dropped: each time the bundle is
// refused. The exceptions are listed: members that nobody signs and that change nothing.
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/attestation/sigstore/suite.h"

namespace assay::test {
namespace {

using Pointer = Json::json_pointer;

// All places of a document below its root.
void collect(const Json& json, const Pointer& at, std::vector<Pointer>& places) {
  if (json.is_object()) {
    for (const auto& [name, value] : json.items()) {
      places.push_back(at / name);
      collect(value, at / name, places);
    }
  } else if (json.is_array()) {
    for (std::size_t i = 0; i < json.size(); ++i) {
      places.push_back(at / i);
      collect(json[i], at / i, places);
    }
  }
}

Json bundle_of(const BundleCase& given) { return Json::parse(given.bundle); }

// A text with another character in its middle, of the same kind, so that base64 and decimals stay
// such.
std::string changed_text(std::string text) {
  if (text.empty()) {
    return "x";
  }
  char& c = text[text.size() / 2];
  c = c == '1' ? '2' : (c >= '0' && c <= '9') ? '1' : c == 'A' ? 'B' : 'A';
  return text;
}

Json changed(const Json& value) {
  if (value.is_string()) {
    return changed_text(value.get<std::string>());
  }
  if (value.is_array()) {
    return Json::array();
  }
  return value.is_object() ? Json::object() : Json(7);
}

void drop(Json& document, const Pointer& at) {
  Json& parent = document[at.parent_pointer()];
  if (parent.is_array()) {
    parent.erase(std::stoul(at.back()));
  } else {
    parent.erase(at.back());
  }
}

// Reads "<name>: <place>" of what may change or be absent.
const std::set<std::string> kMayChange = {
    // Hints about keys are not signed.
    "managed-key: /verificationMaterial/publicKey",
    "managed-key: /verificationMaterial/publicKey/hint",
    "intoto-v0.2: /dsseEnvelope/signatures/0/keyid",
    // Without a checkpoint, a proof of version 0.1 proves nothing; the promise counts.
    "message-v0.1: /verificationMaterial/tlogEntries/0/inclusionProof",
    // The change is in what nobody we know signed: a certificate beside the timestamp, which is not
    // looked at, and the signature of a witness.
    "rekor2-message: "
    "/verificationMaterial/timestampVerificationData/rfc3161Timestamps/0/signedTimestamp",
    "rekor2-dsse: /verificationMaterial/tlogEntries/0/inclusionProof/checkpoint/envelope",
    // Optional for bundles with another proven time.
    "intoto-v0.2: /verificationMaterial/timestampVerificationData",
    "intoto-v0.2: /verificationMaterial/timestampVerificationData/rfc3161Timestamps",
};
const std::set<std::string> kMayBeAbsent = {
    "managed-key: /verificationMaterial/publicKey/hint",
    // A key needs no time; the proof is left.
    "managed-key: /verificationMaterial/tlogEntries/0/inclusionPromise",
    "intoto-v0.2: /verificationMaterial/timestampVerificationData",
    "intoto-v0.2: /verificationMaterial/timestampVerificationData/rfc3161Timestamps",
    "intoto-v0.2: /verificationMaterial/timestampVerificationData/rfc3161Timestamps/0",
};

// sigstore_rekor.proto, sigstore_common.proto: members that a bundle may lack. Zeros are not
// written.
bool may_be_absent(const std::string& name, const std::string& place, const Json& value) {
  const bool is_optional = place.ends_with("/messageDigest") || place.ends_with("/keyid") ||
                           place == "/verificationMaterial/timestampVerificationData" ||
                           value == "0" || value.empty() ||
                           (name == "message-v0.1" && place.ends_with("/inclusionProof")) ||
                           (name == "message-v0.1" && place.ends_with("/checkpoint"));
  const bool is_promise_beside_timestamps =
      name == "intoto-v0.2" &&
      (place.ends_with("/inclusionPromise") || place.ends_with("/integratedTime"));
  return is_optional || is_promise_beside_timestamps || kMayBeAbsent.contains(name + ": " + place);
}

std::string verified(const BundleCase& good, const Json& bundle) {
  BundleCase given = good;
  given.bundle = bundle.dump();
  return code_of(verify(given));
}

TEST(BundleMutations, EveryMemberChanged_IsRefused) {
  for (const std::string name : kCarried) {
    const BundleCase good = carried(name);
    const Json document = bundle_of(good);
    ASSERT_EQ(verified(good, document), "ok") << name;
    std::vector<Pointer> places;
    collect(document, Pointer(), places);
    ASSERT_GT(places.size(), 20U);
    for (const Pointer& place : places) {
      Json bundle = document;
      bundle[place] = changed(document[place]);
      const std::string title = name + ": " + place.to_string();
      if (!kMayChange.contains(title) && bundle != document) {
        EXPECT_NE(verified(good, bundle), "ok") << title;
      }
    }
  }
}

TEST(BundleMutations, EveryMemberDropped_IsRefused) {
  for (const std::string name : kCarried) {
    const BundleCase good = carried(name);
    const Json document = bundle_of(good);
    std::vector<Pointer> places;
    collect(document, Pointer(), places);
    for (const Pointer& place : places) {
      Json bundle = document;
      drop(bundle, place);
      const std::string code = verified(good, bundle);
      if (!may_be_absent(name, place.to_string(), document[place])) {
        EXPECT_NE(code, "ok") << name << ": " << place.to_string();
      }
    }
  }
}

TEST(BundleMutations, EveryMemberAdded_IsRefused) {
  for (const std::string name : kCarried) {
    const BundleCase good = carried(name);
    const Json document = bundle_of(good);
    std::vector<Pointer> places = {Pointer()};
    collect(document, Pointer(), places);
    for (const Pointer& place : places) {
      if (document[place].is_object()) {
        Json bundle = document;
        bundle[place]["more"] = 1;
        EXPECT_EQ(verified(good, bundle), "unknown-member") << name << ": " << place.to_string();
      }
    }
  }
}

// client-spec.md section 5: lowerCamelCase alone.
TEST(BundleMutations, SnakeCase_IsRefused) {
  const BundleCase good = carried("message-v0.3");
  Json bundle = bundle_of(good);
  bundle["media_type"] = bundle["mediaType"];
  bundle.erase("mediaType");
  EXPECT_EQ(verified(good, bundle), "unknown-member");
}

// Every bit of the texts in base64 that are signed or sign something.
TEST(BundleMutations, EveryBitOfSignaturesAndBodies_IsProtected) {
  for (const std::string name : {"message-v0.3", "rekor2-message"}) {
    const BundleCase good = carried(name);
    const Json document = bundle_of(good);
    const Pointer entry("/verificationMaterial/tlogEntries/0");
    for (const Pointer& place :
         {Pointer("/messageSignature/signature"), entry / "canonicalizedBody",
          entry / "inclusionProof" / "rootHash", entry / "logId" / "keyId"}) {
      const Bytes bytes = base64_decode(document[place].get<std::string>()).value();
      for (std::size_t byte = 0; byte < bytes.size(); byte += 1 + bytes.size() / 24) {
        Json bundle = document;
        Bytes other = bytes;
        other[byte] ^= static_cast<std::uint8_t>(1U << (byte % 8));
        bundle[place] = base64_encode(other);
        EXPECT_NE(verified(good, bundle), "ok") << name << " " << place.to_string() << " " << byte;
      }
    }
  }
}

}  // namespace
}  // namespace assay::test
