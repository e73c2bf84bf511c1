// SPDX-License-Identifier: Apache-2.0
#include "server/service/lineage/stored.h"

#include <algorithm>
#include <unordered_set>

#include "schemas/core/json_at.h"
#include "server/service/lineage/part_text.h"

namespace assay::server {
namespace {

// What a lineage does not hold follows its statements, some of it in each part.
Status add_rest(const policy::LineageRest& rest, std::vector<SharedPart>& parts) {
  constexpr std::size_t kInOnePart = 64;
  const auto add = [&](const char* name, const auto& list, const auto& json_of) -> Status {
    for (std::size_t i = 0; i < list.size(); i += kInOnePart) {
      Json json = {{name, Json::array()}};
      for (std::size_t k = i; k < std::min(i + kInOnePart, list.size()); ++k) {
        json[name].push_back(json_of(list[k]));
      }
      ASSAY_ASSIGN(SharedPart part, make_shared_part(json));
      parts.push_back(std::move(part));
    }
    return {};
  };
  ASSAY_TRY(add("aside", rest.aside,
                [](const policy::LineageAside& one) { return policy::to_json(one); }));
  return add("cut", rest.cut, [](const std::string& digest) { return Json(digest); });
}

}  // namespace

Result<LineageFacts> share_lineage(std::shared_ptr<const policy::Lineage> lineage,
                                   const FindPart& kept) {
  Json keys = Json::object();
  std::unordered_set<KeyId> known;
  std::vector<SharedPart> parts;
  parts.reserve(lineage->statements().size());
  for (const auto& statement : lineage->statements()) {
    SharedPart* const slot = kept(*statement);
    const bool has_keys = std::ranges::all_of(
        statement->fact.signers, [&](const auto& one) { return known.contains(one.key.id); });
    if (!has_keys) {
      Json json = policy::to_json(*statement);
      part_signers(json["fact"], keys);
      for (const policy::SignerFact& signer : statement->fact.signers) {
        known.insert(signer.key.id);
      }
    }
    if (slot != nullptr && *slot) {
      parts.push_back(*slot);
      continue;
    }
    ASSAY_ASSIGN(std::string text, part_text(*statement));
    SharedPart part = part_of(std::move(text));
    if (slot != nullptr) {
      *slot = part;
    }
    parts.push_back(std::move(part));
  }
  ASSAY_TRY(add_rest(lineage->rest(), parts));
  ASSAY_ASSIGN(PartList statements, PartList::of(std::move(parts)));
  ASSAY_ASSIGN(Part keys_part, make_part(keys));
  ASSAY_ASSIGN(Part head, make_part({{"start", lineage->start()},
                                     {"reached", lineage->reached()},
                                     {"statements", statements.root().text()},
                                     {"keys", keys_part.id.text()}}));
  auto results = std::make_shared<const KeptResults>(lineage);
  return LineageFacts{std::move(lineage), std::move(statements), std::move(keys_part),
                      std::move(head), std::move(results)};
}

Status put_lineage(storage::Transaction& transaction, const LineageFacts& facts) {
  ASSAY_ASSIGN(const bool known, transaction.has_document(facts.head.id));
  if (known) {
    return {};
  }
  ASSAY_TRY(facts.statements.put(transaction));
  ASSAY_TRY(put_part(transaction, facts.keys));
  return put_part(transaction, facts.head);  // last, so all that it names is there when it is
}

}  // namespace assay::server
