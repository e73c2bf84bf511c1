// SPDX-License-Identifier: Apache-2.0
#include "server/service/lineage/stored.h"

#include "server/service/json_at.h"

namespace assay::server {
namespace {

std::unexpected<Error> broken() {
  return fail(ErrorCode::kDataLoss, "a stored lineage cannot be read");
}

Result<DocumentId> id_at(const Json& json, const char* member) {
  auto id = DocumentId::parse(text_at(json, member));
  return id ? std::move(id) : Result<DocumentId>(broken());
}

}  // namespace

Result<LineageFacts> share_lineage(std::shared_ptr<const policy::Lineage> lineage) {
  Json keys = Json::object();
  std::vector<Part> parts;
  parts.reserve(lineage->statements().size());
  for (const auto& statement : lineage->statements()) {
    Json json = policy::to_json(*statement);
    part_signers(json["fact"], keys);
    ASSAY_ASSIGN(Part part, make_part(json));
    parts.push_back(std::move(part));
  }
  ASSAY_ASSIGN(PartList statements, PartList::of(std::move(parts)));
  ASSAY_ASSIGN(Part keys_part, make_part(keys));
  ASSAY_ASSIGN(Part head, make_part({{"start", lineage->start()},
                                     {"reached", lineage->reached()},
                                     {"statements", statements.root().text()},
                                     {"keys", keys_part.id.text()}}));
  return LineageFacts{std::move(lineage), std::move(statements), std::move(keys_part),
                      std::move(head)};
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

Result<Json> load_lineage(storage::Snapshot& snapshot, const DocumentId& head) {
  ASSAY_ASSIGN(const Json json, load_part(snapshot, head));
  ASSAY_ASSIGN(const DocumentId statements, id_at(json, "statements"));
  ASSAY_ASSIGN(const DocumentId keys_id, id_at(json, "keys"));
  ASSAY_ASSIGN(std::vector<Json> items, load_list(snapshot, statements));
  ASSAY_ASSIGN(const Json keys, load_part(snapshot, keys_id));
  Json document = {{"start", text_at(json, "start")}, {"statements", Json::array()}};
  if (const Json& reached = array_at(json, "reached"); !reached.empty()) {
    document["reached"] = reached;
  }
  for (Json& item : items) {
    if (!item.is_object() || !item.contains("fact")) {
      return broken();
    }
    ASSAY_TRY(join_signers(item["fact"], keys));
    document["statements"].push_back(std::move(item));
  }
  return document;
}

}  // namespace assay::server
