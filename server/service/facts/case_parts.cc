// SPDX-License-Identifier: Apache-2.0
#include "server/service/facts/case_parts.h"

#include <algorithm>
#include <array>
#include <iterator>

#include "policy/statement_index.h"
#include "schemas/core/sha.h"

namespace assay::server {
namespace {

constexpr std::string_view kMediaType = "application/json";
// Lists of the facts document whose items are parts.
constexpr std::array<const char*, 3> kLists = {"manifests", "placements", "statements"};

// The parts of `facts` in the order of the log; adds to `keys` what the trust store says of them.
Result<std::vector<SharedPart>> parts_of(const policy::Facts& facts, const Envelopes& envelopes,
                                         Json& keys) {
  const Json document = policy::to_json(facts);
  std::vector<Json> items;
  for (const char* list : kLists) {
    for (Json item : document.value(list, Json::array())) {
      part_signers(item, keys);
      item.erase("predicate");
      if (list == kLists.back()) {
        ASSAY_ASSIGN(const StatementId id, StatementId::parse(item["id"].get<std::string>()));
        item["envelope"] = envelopes.at(id).text();
      }
      item["list"] = list;
      items.push_back(std::move(item));
    }
  }
  std::stable_sort(items.begin(), items.end(), [](const Json& a, const Json& b) {
    return a["log_index"].get<LeafIndex>() < b["log_index"].get<LeafIndex>();
  });
  std::vector<SharedPart> parts;
  parts.reserve(items.size());
  for (const Json& item : items) {
    ASSAY_ASSIGN(SharedPart part, make_shared_part(item));
    parts.push_back(std::move(part));
  }
  return parts;
}

std::size_t bytes_of(const std::vector<std::vector<SharedPart>>& levels) {
  std::size_t sum = 0;
  for (const std::vector<SharedPart>& level : levels) {
    for (const SharedPart& part : level) {
      sum += part->bytes.size();
    }
  }
  return sum;
}

// A list that gets nothing stays shared.
template <typename Fact>
void add(const policy::SharedList<Fact>& newer, policy::SharedList<Fact>& all) {
  if (!newer.empty()) {
    std::vector<Fact>& facts = all.change();
    facts.insert(facts.end(), newer.begin(), newer.end());
  }
}

}  // namespace

Result<Part> make_part(const Json& json) {
  ASSAY_ASSIGN(std::string bytes, canonical_json(json));
  DocumentId id(sha256(as_bytes(bytes)));
  return Part{std::move(id), std::move(bytes)};
}

Result<SharedPart> make_shared_part(const Json& json) {
  ASSAY_ASSIGN(Part part, make_part(json));
  return std::make_shared<const Part>(std::move(part));
}

SharedPart part_of(std::string bytes) {
  DocumentId id(sha256(as_bytes(bytes)));
  return std::make_shared<const Part>(std::move(id), std::move(bytes));
}

void part_signers(Json& statement, Json& keys) {
  for (Json& signer : statement["signers"]) {
    Json short_form = {{"key", signer["key"]}, {"signed_at", signer["signed_at"]}};
    if (const auto certificate = signer.find("certificate"); certificate != signer.end()) {
      short_form["certificate"] = *certificate;
    }
    const std::string id = signer["key"].get<std::string>();
    signer.erase("signed_at");
    signer.erase("certificate");
    keys[id] = std::move(signer);
    signer = std::move(short_form);
  }
}

Status put_part(storage::Transaction& transaction, const Part& part) {
  ASSAY_TRY(transaction.put_document(kMediaType, as_bytes(part.bytes)));
  return {};
}

Result<Json> load_part(storage::Snapshot& snapshot, const DocumentId& id) {
  ASSAY_ASSIGN(const storage::Document document, snapshot.document(id));
  auto json = parse_json(document.bytes);
  return json ? std::move(json)
              : Result<Json>(fail(ErrorCode::kDataLoss, "a stored part of a case cannot be read"));
}

policy::ReadPart reader_of(storage::Snapshot& snapshot) {
  return [&snapshot](const DocumentId& id) { return load_part(snapshot, id); };
}

Result<PartList> PartList::of(std::vector<SharedPart> items) {
  PartList none;
  none.levels_.emplace_back();
  return none.with(std::move(items));
}

Result<PartList> PartList::with(std::vector<SharedPart> more) const {
  PartList list = *this;
  std::size_t same = list.levels_.front().size();
  list.levels_.front().insert(list.levels_.front().end(), std::make_move_iterator(more.begin()),
                              std::make_move_iterator(more.end()));
  std::size_t level = 0;
  do {
    ++level;
    same /= kFanOut;  // whole documents that name the same as before
    if (level == list.levels_.size()) {
      list.levels_.emplace_back();
    }
    const std::vector<SharedPart>& below = list.levels_[level - 1];
    std::vector<SharedPart>& parts = list.levels_[level];
    parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(std::min(same, parts.size())),
                parts.end());
    for (std::size_t from = same * kFanOut; from < std::max<std::size_t>(below.size(), 1);
         from += kFanOut) {
      Json ids = Json::array();
      for (std::size_t i = from; i < std::min(from + kFanOut, below.size()); ++i) {
        ids.push_back(below[i]->id.text());
      }
      ASSAY_ASSIGN(SharedPart part,
                   make_shared_part({{"level", level}, {"parts", std::move(ids)}}));
      parts.push_back(std::move(part));
    }
  } while (list.levels_[level].size() > 1);
  if (list.levels_.size() > kMaxLevels) {
    return fail(ErrorCode::kLimitExceeded, "there are too many parts");
  }
  list.bytes_ = bytes_of(list.levels_);
  return list;
}

Status PartList::put_node(storage::Transaction& transaction, std::size_t level,
                          std::size_t index) const {
  const Part& part = *levels_[level][index];
  ASSAY_ASSIGN(const bool known, transaction.has_document(part.id));
  if (known) {
    return {};
  }
  if (level > 0) {
    const std::size_t end = std::min((index + 1) * kFanOut, levels_[level - 1].size());
    for (std::size_t i = index * kFanOut; i < end; ++i) {
      ASSAY_TRY(put_node(transaction, level - 1, i));
    }
  }
  return put_part(transaction, part);
}

Status PartList::put(storage::Transaction& transaction) const {
  return put_node(transaction, levels_.size() - 1, 0);
}

Result<ArtifactFacts> share(policy::Facts facts, Envelopes envelopes) {
  Json keys = Json::object();
  ASSAY_ASSIGN(std::vector<SharedPart> parts, parts_of(facts, envelopes, keys));
  ASSAY_ASSIGN(PartList statements, PartList::of(std::move(parts)));
  ASSAY_ASSIGN(Part keys_part, make_part(keys));
  facts.index = policy::index_statements(facts.statements);
  return ArtifactFacts{std::move(facts), std::move(envelopes), std::move(statements),
                       std::move(keys_part)};
}

Result<ArtifactFacts> extend(const ArtifactFacts& known, const policy::Facts& newer,
                             const Envelopes& envelopes) {
  ASSAY_ASSIGN(Json keys, parse_json(known.keys.bytes));
  ASSAY_ASSIGN(std::vector<SharedPart> parts, parts_of(newer, envelopes, keys));
  ASSAY_ASSIGN(PartList statements, known.statements.with(std::move(parts)));
  ASSAY_ASSIGN(Part keys_part, make_part(keys));
  ArtifactFacts all{known.facts, known.envelopes, std::move(statements), std::move(keys_part)};
  add(newer.manifests, all.facts.manifests);
  add(newer.placements, all.facts.placements);
  add(newer.statements, all.facts.statements);
  all.facts.index = policy::index_statements(all.facts.statements);
  all.envelopes.insert(envelopes.begin(), envelopes.end());
  return all;
}

}  // namespace assay::server
