// SPDX-License-Identifier: Apache-2.0
// The fixture of the contract suite and the values it stores.
#include "tests/storage/store_contract.h"

#include <cstdlib>
#include <filesystem>
#include <unistd.h>

#include "schemas/core/merkle.h"
#include "schemas/core/sha.h"

namespace assay::storage {

namespace {

// In memory where that is possible: these tests need files, and no disk.
std::filesystem::path base_folder() {
  const bool memory = std::getenv("TMPDIR") == nullptr && ::access("/dev/shm", W_OK) == 0;
  return memory ? std::filesystem::path("/dev/shm") : std::filesystem::temp_directory_path();
}

}  // namespace

TemporaryFolder::TemporaryFolder() {
  std::string pattern = (base_folder() / "assay-store-XXXXXX").string();
  if (::mkdtemp(pattern.data()) == nullptr) {
    ADD_FAILURE() << "no temporary folder";
  }
  path_ = pattern;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

void StoreContract::open(TestStoreOptions options) {
  options.folder = folder_.path();
  options_ = options;
  store_.reset();
  auto opened = GetParam().open(options_, signer_, clock_);
  ASSERT_TRUE(opened) << to_string(opened.error());
  store_ = std::move(*opened);
}

void StoreContract::reopen() { open(options_); }

std::unique_ptr<Snapshot> StoreContract::snapshot() {
  auto opened = store_->snapshot();
  EXPECT_TRUE(opened) << to_string(opened.error());
  return opened ? std::move(*opened) : nullptr;
}

LogState StoreContract::write(const std::function<Status(Transaction&)>& work) {
  auto state = store_->write(work);
  EXPECT_TRUE(state) << to_string(state.error());
  return state ? *state : LogState{0, digest_of("failed"), {}};
}

ErrorCode StoreContract::write_error(const std::function<Status(Transaction&)>& work) {
  const auto state = store_->write(work);
  EXPECT_FALSE(state) << "the write should have failed";
  return state ? ErrorCode{} : state.error().code;
}

LogState StoreContract::append(std::size_t count, const std::string& type) {
  return write([&](Transaction& transaction) -> Status {
    for (std::size_t i = 0; i < count; ++i) {
      ASSAY_TRY(transaction.append(make_record(type)));
    }
    return {};
  });
}

Digest digest_of(std::string_view text) { return sha256(as_bytes(text)); }

LogRecord make_record(const std::string& type, const std::string& actor,
                      std::vector<std::string> subjects) {
  return {.type = type,
          .time = Timestamp(),
          .actor = actor,
          .subjects = std::move(subjects),
          .documents = {},
          .detail = Json::object()};
}

StatementRow make_statement(const std::string& name) {
  return {.id = StatementId(digest_of("statement " + name)),
          .kind = StatementKind::kManifest,
          .payload_type = "application/vnd.in-toto+json",
          .predicate_type = "https://assay.dev/merkle-manifest/v1",
          .stage = "",
          .name = name,
          .version = 0,
          .subjects = {ArtifactId(digest_of("artifact " + name)).text()},
          .locations = {},
          .signers = {},
          .envelopes = {},
          .log_index = 0,
          .accepted_at = Timestamp()};
}

Result<StatementRow> put(Transaction& transaction, StatementRow row) {
  if (row.envelopes.empty()) {
    const std::string envelope = "envelope of " + row.id.text();
    ASSAY_ASSIGN(const DocumentId id,
                 transaction.put_document("application/json", as_bytes(envelope)));
    row.envelopes = {id};
  }
  ASSAY_ASSIGN(row.log_index, transaction.append(make_record("manifest.accepted")));
  row.accepted_at = transaction.now();
  ASSAY_TRY(transaction.put_statement(row));
  return row;
}

DecisionRow make_decision(const std::string& id) {
  return {.id = id,
          .envelope = DocumentId(digest_of("unset")),
          .allowed = true,
          .point = "create",
          .subjects = {ArtifactId(digest_of("artifact")).text(),
                       ArtifactId(digest_of("adapter")).text()},
          .name_space = "prod",
          .reasons = {},
          .evaluated_at = Timestamp(),
          .log_index = 0};
}

Result<DecisionRow> put(Transaction& transaction, DecisionRow row) {
  ASSAY_ASSIGN(row.envelope, transaction.put_document("application/json", as_bytes(row.id)));
  ASSAY_ASSIGN(row.log_index, transaction.append(make_record("decision.made")));
  row.evaluated_at = transaction.now();
  ASSAY_TRY(transaction.put_decision(row));
  return row;
}

TrustedKey make_key(std::uint8_t first) {
  const TestSigner signer(first);
  return {.id = signer.key_id(),
          .algorithm = signer.algorithm(),
          .public_key = signer.public_key(),
          .purpose = KeyPurpose::kSigner,
          .identity = "team-" + std::to_string(first),
          .roles = {{"train", "https://assay.dev/lifecycle/v1", "acme"}, {"*", "*", "*"}},
          .not_before = Timestamp(std::chrono::hours(1)),
          .not_after = Timestamp(std::chrono::hours(1000000)),
          .revoked = std::nullopt};
}

Principal make_principal(const std::string& name) {
  return {.name = name,
          .roles = {AccessRole::kReader, AccessRole::kAuditor},
          .credentials = {{CredentialKind::kToken, digest_of("token of " + name)},
                          {CredentialKind::kClientCertificate, digest_of("key of " + name)}},
          .not_after = Timestamp(std::chrono::hours(2000))};
}

std::vector<LeafIndex> indexes_of(const std::vector<StatementRow>& rows) {
  std::vector<LeafIndex> indexes;
  for (const auto& row : rows) {
    indexes.push_back(row.log_index);
  }
  return indexes;
}

std::vector<LeafIndex> indexes_of(const std::vector<DecisionRow>& rows) {
  std::vector<LeafIndex> indexes;
  for (const auto& row : rows) {
    indexes.push_back(row.log_index);
  }
  return indexes;
}

std::vector<LeafIndex> indexes_of(const std::vector<EventRow>& rows) {
  std::vector<LeafIndex> indexes;
  for (const auto& row : rows) {
    indexes.push_back(row.index);
  }
  return indexes;
}

void expect_included(Snapshot& snapshot, LeafIndex index, const LogState& state) {
  const auto record = snapshot.log_record(index);
  ASSERT_TRUE(record) << to_string(record.error());
  const auto proof = snapshot.inclusion_proof(index, state.size);
  ASSERT_TRUE(proof) << to_string(proof.error());
  const auto verified = verify_inclusion(merkle_leaf(HashAlgorithm::kSha256, *record), index,
                                         state.size, *proof, state.root);
  EXPECT_TRUE(verified) << to_string(verified.error());
}

}  // namespace assay::storage
