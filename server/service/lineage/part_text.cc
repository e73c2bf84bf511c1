// SPDX-License-Identifier: Apache-2.0
// Most statements of a lineage have neither evidence nor a withdrawal. Their text is written member
// by member: with a JSON value for each, a lineage of 10,000 spent half of its time on small pieces
// of memory.
#include "server/service/lineage/part_text.h"

#include <algorithm>
#include <utility>

#include "schemas/core/bytes.h"
#include "schemas/core/jcs.h"
#include "server/service/facts/case_parts.h"

namespace assay::server {
namespace {

void write(std::string& out, const std::vector<std::string>& texts) {
  auto list = JcsWriter::list(out);
  for (const std::string& text : texts) {
    append_canonical(list.item(), text);
  }
}

void write(std::string& out, const CertificateUse& use) {
  auto object = JcsWriter::object(out);
  append_canonical(object.member("at"), to_rfc3339(use.at));
  append_canonical(object.member("issuer"), use.issuer);
  append_canonical(object.member("key"), use.key.text());
  append_canonical(object.member("subject"), use.subject);
}

void write(std::string& out, const std::vector<policy::SignerFact>& signers) {
  std::vector<std::pair<std::string, const policy::SignerFact*>> short_forms;
  short_forms.reserve(signers.size());
  for (const policy::SignerFact& signer : signers) {
    short_forms.emplace_back(signer.key.id.text(), &signer);
  }
  std::ranges::sort(short_forms, {}, [](const auto& one) {
    return std::pair(std::string_view(one.first), one.second->signed_at);
  });
  auto list = JcsWriter::list(out);
  for (const auto& [key, fact] : short_forms) {
    auto signer = JcsWriter::object(list.item());
    if (fact->certificate) {
      write(signer.member("certificate"), *fact->certificate);
    }
    append_canonical(signer.member("key"), key);
    append_canonical(signer.member("signed_at"), to_rfc3339(fact->signed_at));
  }
}

void write(std::string& out, const policy::StatementFact& fact) {
  auto object = JcsWriter::object(out);
  append_canonical(object.member("accepted_at"), to_rfc3339(fact.accepted_at));
  append_canonical(object.member("id"), fact.id.text());
  object.member("log_index") += std::to_string(fact.log_index);
  object.member("names") += "[]";
  object.member("predicate") += "null";
  append_canonical(object.member("predicate_type"), fact.predicate_type);
  write(object.member("signers"), fact.signers);
  append_canonical(object.member("stage"), fact.stage);
}

void write(std::string& out, const policy::LineageInput& input) {
  auto object = JcsWriter::object(out);
  if (!input.also.empty()) {
    write(object.member("also"), input.also);
  }
  write(object.member("digests"), input.digests);
  if (!input.name.empty()) {
    append_canonical(object.member("name"), input.name);
  }
  append_canonical(object.member("role"), input.role);
}

void write(std::string& out, const policy::LineageSubject& subject) {
  auto object = JcsWriter::object(out);
  append_canonical(object.member("digest"), subject.digest);
  write(object.member("names"), subject.names);
}

template <typename Item>
void write_list(std::string& out, const std::vector<Item>& items) {
  auto list = JcsWriter::list(out);
  for (const Item& item : items) {
    write(list.item(), item);
  }
}

std::string plain_text(const policy::LineageStatement& statement) {
  std::string out;
  out.reserve(1024);
  {
    auto object = JcsWriter::object(out);
    write(object.member("fact"), statement.fact);
    if (!statement.inputs.empty()) {
      write_list(object.member("inputs"), statement.inputs);
    }
    if (statement.licence) {
      append_canonical(object.member("licence"), *statement.licence);
    }
    if (statement.manifest) {
      object.member("manifest") += "true";
    }
    write_list(object.member("subjects"), statement.subjects);
    if (!statement.together.empty()) {
      write_list(object.member("together"), statement.together);
    }
    if (statement.unread) {
      object.member("unread") += "true";
    }
  }
  return out;
}

}  // namespace

Result<std::string> part_text(const policy::LineageStatement& statement) {
  const policy::StatementFact& fact = statement.fact;
  if (fact.withdrawn || !fact.evidence.empty() || !fact.predicate.is_null() ||
      !fact.names.empty()) {
    Json json = policy::to_json(statement);
    Json keys = Json::object();
    part_signers(json["fact"], keys);
    return canonical_json(json);
  }
  std::string text = plain_text(statement);
  if (!is_utf8(text)) {
    return fail(ErrorCode::kMalformedJson, "a statement of a lineage is not UTF-8");
  }
  return text;
}

}  // namespace assay::server
