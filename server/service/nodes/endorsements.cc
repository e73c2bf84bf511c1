// SPDX-License-Identifier: Apache-2.0
#include "server/service/nodes/endorsements.h"

#include <algorithm>
#include <iterator>
#include <set>

#include "attestation/dsse.h"
#include "schemas/core/sha.h"
#include "schemas/endorsements.h"
#include "schemas/log_record.h"
#include "server/service/documents/receipt.h"
#include "server/service/documents/store_statement.h"
#include "server/service/if_found.h"
#include "server/service/write_change.h"

namespace assay::server {
namespace {

using attestation::CollateralSetPtr;

// A bundle whose signatures and collateral were verified.
struct OpenBundle {
  VerifiedEnvelope verified;
  std::vector<std::string> operators;  // identities that signed it, ascending
  Endorsements content;
  std::vector<CollateralSetPtr> sets;
};

Result<CollateralSetPtr> open_set_of(Services& services, const Endorsements& content,
                                     std::size_t place) {
  const EndorsedCollateral& one = content.collateral[place];
  auto set = open_collateral(services, one.type, one.collateral, kByBundle);
  if (!set) {
    Error error = std::move(set).error();
    error.where = "/collateral/" + std::to_string(place) + error.where;
    return std::unexpected(std::move(error));
  }
  return set;
}

// Nothing of the payload is parsed before two operators stand for it.
Result<OpenBundle> open_bundle(Services& services, ByteView envelope) {
  ASSAY_ASSIGN(VerifiedEnvelope verified,
               verify_envelope(services, envelope, kEndorsementsPayloadType));
  const SigningContext context{KeyPurpose::kOperator, {}, {}, {}};
  ASSAY_ASSIGN(const auto counted,
               attestation::require_signers(verified.signatures, context, kTrustChangeThreshold,
                                            verified.now));
  std::set<std::string> operators;
  for (const auto& signature : counted) {
    operators.insert(signature.key.identity);
  }
  ASSAY_ASSIGN(Endorsements content, parse_endorsements(verified.envelope.payload));
  std::vector<CollateralSetPtr> sets;
  for (std::size_t i = 0; i < content.collateral.size(); ++i) {
    ASSAY_ASSIGN(CollateralSetPtr set, open_set_of(services, content, i));
    sets.push_back(std::move(set));
  }
  return OpenBundle{std::move(verified),
                    {operators.begin(), operators.end()},
                    std::move(content),
                    std::move(sets)};
}

// Whether the newest bundle has this payload; its signatures may be others.
Result<bool> is_newest(storage::Transaction& transaction, const OpenBundle& bundle) {
  ASSAY_ASSIGN(const DocumentId id,
               transaction.high_water_collateral(std::string(kEndorsementsMark)));
  ASSAY_ASSIGN(const storage::Document kept, transaction.document(id));
  ASSAY_ASSIGN(const attestation::Envelope envelope, attestation::parse_envelope(kept.bytes));
  return envelope.payload == bundle.verified.envelope.payload;
}

// Returns whether the bundle is there already. Errors: collateral-rollback.
Result<bool> check_number(storage::Transaction& transaction, const OpenBundle& bundle) {
  ASSAY_ASSIGN(const std::uint64_t newest, transaction.high_water(std::string(kEndorsementsMark)));
  const std::uint64_t number = bundle.content.number;
  if (number > newest) {
    return false;
  }
  if (number == newest) {
    ASSAY_ASSIGN(const bool same, is_newest(transaction, bundle));
    if (same) {
      return true;
    }
  }
  return fail(ErrorCode::kCollateralRollback,
              "the newest bundle has number " + std::to_string(newest) + ", this one has number " +
                  std::to_string(number) + (number == newest ? " and another content" : ""),
              "/number");
}

Timestamp first_end(const OpenBundle& bundle) {
  Timestamp end = Timestamp::max();
  for (const CollateralSetPtr& set : bundle.sets) {
    for (const attestation::CollateralPart& part : set->parts()) {
      end = std::min(end, part.kind == "rim" ? end : part.next_update);
    }
  }
  return end;
}

// The bundle itself. The form is that of a part, from which a repair raises the mark again.
Result<LeafIndex> log_bundle(storage::Transaction& transaction, const OpenBundle& bundle,
                             const DocumentId& document, const Bringer& bringer) {
  const Timestamp end = first_end(bundle);
  const Json part = {
      {"name", kEndorsementsMark},
      {"number", bundle.content.number},
      {"issued", to_rfc3339(bundle.content.made_at)},
      {"next_update", end == Timestamp::max() ? Json(nullptr) : Json(to_rfc3339(end))},
      {"mark", bundle.content.number}};
  return transaction.append({.type = std::string(event::kCollateralAccepted),
                             .time = transaction.now(),
                             .actor = bringer.actor,
                             .subjects = {bringer.bundle},
                             .documents = {document},
                             .detail = {{"by", bringer.way},
                                        {"bundle", bringer.bundle},
                                        {"operators", bundle.operators},
                                        {"parts", Json::array({part})}}});
}

void append(std::vector<ImportedPart>& parts, std::vector<ImportedPart> more) {
  std::ranges::move(more, std::back_inserter(parts));
}

Result<std::vector<ImportedPart>> keep_all(storage::Transaction& transaction,
                                           const OpenBundle& bundle, const Bringer& bringer) {
  std::vector<ImportedPart> parts;
  std::set<std::string> names;
  for (const CollateralSetPtr& set : bundle.sets) {
    ASSAY_ASSIGN(KeptParts kept, keep_collateral(transaction, *set, bringer));
    for (const ImportedPart& part : kept.parts) {
      names.insert(part.name);
    }
    append(parts, std::move(kept.parts));
  }
  ASSAY_ASSIGN(KeptParts ended, end_vouching(transaction, names, bringer));
  append(parts, std::move(ended.parts));
  return parts;
}

}  // namespace

Result<EndorsementsAccepted> accept_endorsements(Services& services, ByteView envelope,
                                                 const Principal& actor) {
  ASSAY_ASSIGN(const OpenBundle bundle, open_bundle(services, envelope));
  EndorsementsAccepted accepted{bundle.verified.id, bundle.content.number, false, {}, Json()};
  const Bringer bringer{actor.name, kByBundle, accepted.id.text()};
  std::optional<LeafIndex> index;
  const auto work = [&](storage::Transaction& transaction) -> Status {
    index.reset();
    ASSAY_TRY(require_same_trust(transaction, bundle.verified));
    ASSAY_ASSIGN(const bool is_there, check_number(transaction, bundle));
    if (is_there) {
      return {};
    }
    ASSAY_ASSIGN(const DocumentId document, transaction.put_document(kEnvelopeMediaType, envelope));
    ASSAY_TRY(transaction.raise_high_water(std::string(kEndorsementsMark), bundle.content.number,
                                           document));
    ASSAY_ASSIGN(index, log_bundle(transaction, bundle, document, bringer));
    ASSAY_ASSIGN(accepted.parts, keep_all(transaction, bundle, bringer));
    return {};
  };
  ASSAY_TRY(write_change(services, work));
  accepted.created = index.has_value();
  if (index) {
    evidence_moved(services);
    ASSAY_ASSIGN(const auto snapshot, services.store.snapshot());
    ASSAY_ASSIGN(accepted.receipt, log_receipt(*snapshot, *index));
  }
  return accepted;
}

Result<Json> endorsements_view(storage::Snapshot& snapshot) {
  const std::string mark(kEndorsementsMark);
  ASSAY_ASSIGN(const std::uint64_t number, snapshot.high_water(mark));
  ASSAY_ASSIGN(const auto envelope, if_found(snapshot.high_water_collateral(mark)));
  return Json{{"number", number}, {"envelope", envelope ? Json(envelope->text()) : Json(nullptr)}};
}

}  // namespace assay::server
