// SPDX-License-Identifier: Apache-2.0
// assay trust show: everything that is trusted, so that people can review it.
#include <utility>

#include "cli/client/connect.h"
#include "cli/output.h"
#include "cli/review/text.h"
#include "cli/verbs/trust_change.h"
#include "schemas/core/bytes.h"
#include "schemas/core/json_at.h"
#include "schemas/core/sha.h"

namespace assay::cli {

namespace {

std::string roles_of(const Json& key) {
  std::string out;
  for (const Json& role : list_at(key, "roles")) {
    out += (out.empty() ? "" : ", ") + text_at(role, "stage") + ":" +
           text_at(role, "predicate_type") + ":" + text_at(role, "namespace");
  }
  return out;
}

// Whose ServiceAccount tokens a registration asks for.
std::string tokens_of(const Json& registration) {
  const auto account = registration.find("service_account");
  return account == registration.end() || !account->is_object()
             ? ""
             : text_at(*account, "issuer") + " " + text_at(*account, "subject");
}

// A table below another one, where it has rows.
void show_more(const Context& context, const Table& table) {
  if (!table.empty()) {
    print_text("\n");
    print_table(context, table);
  }
}

void show_identities(const Context& context, const Json& trust) {
  Table identities({"KEY", "CERTIFICATE OF", "ISSUED BY"});
  for (const Json& key : list_at(trust, "keys")) {
    const auto certificate = key.find("certificate");
    if (certificate != key.end()) {
      const auto subject = certificate->find("subject");
      identities.row({text_at(key, "id"),
                      subject == certificate->end() ? "" : text_at(*subject, "pattern"),
                      certificate->contains("roots")
                          ? counted(list_at(*certificate, "roots").size(), "CA certificate")
                          : text_at(*certificate, "issuer") + " (trusted root " +
                                text_at(*certificate, "trusted_root") + ")"});
    }
  }
  show_more(context, identities);
  Table roots({"TRUSTED ROOT", "SINCE TRUST EPOCH"});
  for (const Json& root : list_at(trust, "trusted_roots")) {
    roots.row({text_at(root, "name"), std::to_string(number_at(root, "version"))});
  }
  show_more(context, roots);
}

void show_registrations(const Context& context, const Json& trust) {
  Table registrations(
      {"REGISTRATION", "NODE", "PRINCIPAL", "PLATFORMS", "NODES EACH", "DEVICES", "TOKENS OF"});
  for (const Json& one : list_at(trust, "registrations")) {
    registrations.row({text_at(one, "id"), text_at(one, "node"), text_at(one, "principal"),
                       one.contains("platforms") ? joined_at(one, "platforms") : "any",
                       std::to_string(number_at(one, "nodes_per_platform")),
                       one.contains("devices") ? std::to_string(number_at(one, "devices")) : "none",
                       tokens_of(one)});
  }
  show_more(context, registrations);
}

// The dangerous members of an appraisal, anchors with their digests.
std::string dangers_of(const Json& appraisal) {
  std::string text;
  for (const std::string& member : dangerous_members(appraisal)) {
    text += (text.empty() ? "" : ", ") + member;
    if (member == "dangerous_anchors") {
      for (const Json& anchor : list_at(appraisal, "dangerous_anchors")) {
        const auto der = base64_decode(anchor.is_string() ? anchor.get<std::string>() : "");
        text += " " + (der ? sha256(*der).text() : "unreadable");
      }
    }
  }
  return text.empty() ? "" : "! " + text;
}

void show_appraisals(const Context& context, const Json& trust) {
  Table appraisals({"APPRAISAL OF", "FOR", "DANGEROUS", "POLICY HAS"}, {"POLICY HAS"});
  for (const Json& one : list_at(trust, "appraisals")) {
    const std::string stage = text_at(one, "stage");
    std::string members;
    for (const auto& [name, value] : object_at(one, "policy").items()) {
      members += (members.empty() ? "" : ", ") + name;
    }
    appraisals.row({text_at(one, "evidence_type"),
                    stage.empty()  ? "nodes"
                    : stage == "*" ? "statements of other stages"
                                   : "statements of stage " + stage,
                    dangers_of(one), members.empty() ? "defaults" : members});
  }
  show_more(context, appraisals);
}

void show_reference_values(const Context& context, const Json& trust) {
  Table tags({"REFERENCE VALUES", "VERSION", "APPRAISAL", "SIGNED BY", "STATE"});
  for (const Json& one : list_at(trust, "reference_values")) {
    const std::string by = text_at(one, "identity");
    tags.row({text_at(one, "tag_id"), std::to_string(number_at(one, "version")),
              text_at(one, "appraisal"), by.empty() ? "! nobody" : by,
              one.contains("removed") ? "removed" : ""});
  }
  show_more(context, tags);
}

}  // namespace

Result<Exit> show_trust(const Context& context, const ConnectionFlags& connection) {
  ASSAY_ASSIGN(Api api, open_api(context, connection));
  ASSAY_ASSIGN(const Json trust, api.get("/v1/trust"));
  if (context.json()) {
    print_json(trust);
    return Exit::kYes;
  }
  Table keys({"KEY", "PURPOSE", "IDENTITY", "VALID UNTIL", "STATE", "ROLES"});
  for (const Json& key : list_at(trust, "keys")) {
    keys.row({text_at(key, "id"), text_at(key, "purpose"), text_at(key, "identity"),
              text_at(key, "not_after"), key.contains("revoked") ? "revoked" : "", roles_of(key)});
  }
  print_table(context, keys);
  show_identities(context, trust);
  Table principals({"PRINCIPAL", "ROLES", "VALID UNTIL"});
  for (const Json& principal : list_at(trust, "principals")) {
    principals.row({text_at(principal, "name"), joined_at(principal, "roles"),
                    text_at(principal, "not_after")});
  }
  show_more(context, principals);
  show_registrations(context, trust);
  show_appraisals(context, trust);
  show_reference_values(context, trust);
  if (const auto epochs = trust.find("epochs"); epochs != trust.end()) {
    print_line("");
    print_line("epochs: trust " + std::to_string(number_at(*epochs, "trust")) + ", revocation " +
               std::to_string(number_at(*epochs, "revocation")) + ", policy " +
               std::to_string(number_at(*epochs, "policy")));
  }
  return Exit::kYes;
}

}  // namespace assay::cli
