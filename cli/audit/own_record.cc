// SPDX-License-Identifier: Apache-2.0
#include "cli/audit/own_record.h"

#include <algorithm>
#include <set>

#include "cli/audit/verify.h"
#include "client/answers.h"
#include "schemas/core/merkle.h"
#include "schemas/core/sha.h"

namespace assay::cli {

namespace {

std::unexpected<Error> another(const std::string& why) {
  return fail(ErrorCode::kLogInconsistent,
              "The service's receipt is not about the record of this signature: " + why);
}

bool holds(const Json& list, const std::string& text) {
  return std::find(list.begin(), list.end(), Json(text)) != list.end();
}

// Which of `keys` the service says signed the statement.
std::set<std::string> counted_among(const Json& answer, const std::set<std::string>& keys) {
  std::set<std::string> counted;
  for (const Json& signer : client::list_at(answer, "signers")) {
    if (keys.contains(client::text_at(signer, "key_id"))) {
      counted.insert(client::text_at(signer, "key_id"));
    }
  }
  return counted;
}

// Why the record is of another envelope, and names no key of `ours`. A service that says that a key
// signed, and shows a record without it, contradicts itself. One that counts no signature of the
// envelope besides those that it had writes no record about it.
std::unexpected<Error> of_others(const Json& answer, const std::set<std::string>& ours) {
  if (!counted_among(answer, ours).empty()) {
    return another("the record names other keys");
  }
  if (!ours.empty()) {
    return fail(ErrorCode::kUntrustedSigner,
                "The service has this statement by the signatures of others, and counts none of "
                "those of this envelope");
  }
  return fail(ErrorCode::kUntrustedSigner,
              "The service had this statement already, and took no signature of this envelope that "
              "it did not have: it does not count those that are new. The envelope names no keys "
              "by which to tell whether the record of the log is about it; sign with --keyid "
              "sha256 to be able to");
}

// The keys that signed, by their hints, where they are hexadecimal key ids. An envelope without
// them is known by its bytes alone.
std::set<std::string> key_ids(const LoadedDocument& document) {
  std::set<std::string> ids;
  if (document.envelope) {
    for (const attestation::EnvelopeSignature& signature : document.envelope->signatures) {
      if (KeyId::parse("sha256:" + signature.keyid_hint)) {
        ids.insert("sha256:" + signature.keyid_hint);
      }
    }
  }
  return ids;
}

}  // namespace

std::set<std::string> keys_not_counted(const Json& answer, const LoadedDocument& document) {
  std::set<std::string> left = key_ids(document);
  for (const std::string& key : counted_among(answer, left)) {
    left.erase(key);
  }
  return left;
}

Status check_own_record(const Json& answer, const LoadedDocument& document, ByteView envelope,
                        const std::optional<attestation::NoteVerifier>& verifier) {
  if (!answer.is_object() || !answer.contains("log") || !answer.contains("record")) {
    return another("the answer holds no receipt or no record");
  }
  ASSAY_ASSIGN(const Receipt receipt, receipt_from_json(answer.at("log"), "the service's receipt"));
  const Json& record = answer.at("record");
  ASSAY_ASSIGN(const std::string bytes, canonical_json(record));
  if (merkle_leaf(HashAlgorithm::kSha256, as_bytes(bytes)) != receipt.leaf_hash) {
    return another("the record has another hash");
  }
  if (!holds(client::list_at(record, "subject"), document.payload.id().text())) {
    return another("the record is about something else");
  }
  const std::set<std::string> ours = key_ids(document);
  const Json detail = record.value("detail", Json::object());
  const Json& named = client::list_at(detail, "signers");
  if (!holds(client::list_at(record, "documents"), DocumentId(sha256(envelope)).text()) &&
      std::none_of(ours.begin(), ours.end(),
                   [&](const std::string& key) { return holds(named, key); })) {
    return of_others(answer, ours);
  }
  for (const Json& signer : client::list_at(answer, "signers")) {
    if (ours.contains(client::text_at(signer, "key_id")) &&
        client::number_at(signer, "log_index") > receipt.index) {
      return another("a later record names " + client::text_at(signer, "key_id"));
    }
  }
  return verifier ? check_receipt(receipt, *verifier) : Status();
}

}  // namespace assay::cli
