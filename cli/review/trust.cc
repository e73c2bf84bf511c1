// SPDX-License-Identifier: Apache-2.0
// Reviews of changes of trust, operation by operation.
#include "schemas/trust.h"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "cli/review/appraisal.h"
#include "cli/review/reference_values.h"
#include "cli/review/registration.h"
#include "cli/review/review.h"
#include "cli/review/text.h"
#include "schemas/core/sha.h"
#include "schemas/roles.h"

namespace assay::cli {

namespace {

constexpr std::string_view kAccessMeaning[] = {
#define ASSAY_ACCESS_ROLE(enumerator, name, meaning) name ": " meaning,
#define ASSAY_KEY_PURPOSE(enumerator, name, meaning)
#include "schemas/roles.def"
#undef ASSAY_ACCESS_ROLE
#undef ASSAY_KEY_PURPOSE
};
constexpr std::string_view kPurposeMeaning[] = {
#define ASSAY_ACCESS_ROLE(enumerator, name, meaning)
#define ASSAY_KEY_PURPOSE(enumerator, name, meaning) name ": " meaning,
#include "schemas/roles.def"
#undef ASSAY_ACCESS_ROLE
#undef ASSAY_KEY_PURPOSE
};

// "publisher: this artifact is what we publish"; the name alone when it is not in the table.
template <std::size_t N>
std::string meaning(const std::string_view (&table)[N], const std::string& name) {
  for (const std::string_view line : table) {
    if (line.starts_with(name + ": ")) {
      return std::string(line);
    }
  }
  return quoted(Json(name));
}

// The entry of a list whose member has this value; null when there is none.
Json entry(const Json& list, const char* member, const std::string& value) {
  for (const Json& item : list) {
    if (text_of(item, member) == value) {
      return item;
    }
  }
  return nullptr;
}

// One operation and where it stands.
struct Operation {
  std::string path;  // "operations[1].put_principal"
  const Json& value;
  const InForce& in_force;
  Review& review;
  std::size_t limit;

  void say(std::string line) const { review.says.push_back(std::move(line)); }
  void flag(const std::string& text) const { review.flags.push_back(text); }
  void change(const std::string& member, Json before, Json after, std::string why) const {
    review.changes.push_back(
        {path + "." + member, std::move(before), std::move(after), std::move(why)});
  }
  [[nodiscard]] const Json* known() const { return in_force.trust ? &*in_force.trust : nullptr; }
};

std::string role_text(const Json& role) {
  return "stage " + quoted(role.value("stage", Json())) + ", predicate type " +
         quoted(role.value("predicate_type", Json())) + ", models " +
         quoted(role.value("namespace", Json()));
}

// --- keys

// What keys of the same identity and purpose that are not revoked may say already.
Json roles_so_far(const Json& trust, const Json& key) {
  Json roles = Json::array();
  for (const Json& one : list_of(trust, "keys")) {
    if (text_of(one, "identity") == text_of(key, "identity") &&
        text_of(one, "purpose") == text_of(key, "purpose") && !one.contains("revoked")) {
      for (const Json& role : list_of(one, "roles")) {
        roles.push_back(role);
      }
    }
  }
  return roles;
}

// A publisher's role has no stage: "*" is the only one it can have.
void flag_wide_roles(const Operation& operation, const std::string& identity) {
  const bool has_stages = text_of(operation.value, "purpose") != "publisher";
  for (const Json& role : list_of(operation.value, "roles")) {
    if (has_stages && text_of(role, "stage") == "*") {
      operation.flag("a role of " + identity + " is for every stage");
    }
    if (text_of(role, "namespace") == "*") {
      operation.flag("a role of " + identity + " is for every model");
    }
  }
}

void compare_key(const Operation& operation, const Json& trust) {
  const Json& key = operation.value;
  const Json same = entry(list_of(trust, "keys"), "id", text_of(key, "id"));
  const Json before = same.is_null() ? roles_so_far(trust, key) : list_of(same, "roles");
  for (const Json& role : list_of(key, "roles")) {
    if (std::find(before.begin(), before.end(), role) == before.end()) {
      operation.change("roles[]", nullptr, role,
                       quoted(key.value("identity", Json())) + " could not say this before");
    }
  }
  if (same.is_null()) {
    operation.change("id", nullptr, key.value("id", Json()), "");
    return;
  }
  for (const Difference& one : differences(same, key)) {
    if (!one.path.starts_with("roles") || one.after.is_null()) {
      operation.change(one.path, one.before, one.after, "a key that is trusted already");
    }
  }
}

// Whose certificates count: the pattern decides it, so its reach is flagged.
void say_certificate(const Operation& operation, const Json& certificate) {
  const Json subject = certificate.value("subject", Json::object());
  const std::string pattern = text_of(subject, "pattern");
  operation.say("    whoever holds a certificate for the " + text_of(subject, "kind") + " " +
                quoted(Json(pattern)));
  for (const Json& root : list_of(certificate, "roots")) {
    const auto der = base64_decode(root.is_string() ? root.get<std::string>() : std::string());
    operation.say("    issued by the CA with certificate " +
                  (der ? sha256(*der).text() : quoted(root)));
  }
  if (certificate.contains("issuer")) {
    operation.say("    by a token of " + quoted(certificate.at("issuer")) +
                  ", verified against the trusted root " +
                  quoted(certificate.value("trusted_root", Json())));
  }
  if (pattern.find('*') != std::string::npos) {
    operation.flag("every certificate for " + quoted(Json(pattern)) + " counts as one identity");
  }
}

void review_key(const Operation& operation) {
  const Json& key = operation.value;
  const std::string identity = quoted(key.value("identity", Json()));
  const std::string purpose = text_of(key, "purpose");
  const bool by_certificate = key.contains("certificate");
  operation.say(std::string(by_certificate ? "trust certificates of " : "trust a key of ") +
                identity + " as " + meaning(kPurposeMeaning, purpose));
  if (by_certificate) {
    say_certificate(operation, key.at("certificate"));
  }
  operation.say("    " + quoted(key.value("id", Json())) + ", " +
                (by_certificate ? "" : quoted(key.value("algorithm", Json())) + ", ") +
                "valid from " + quoted(key.value("not_before", Json())) + " until " +
                quoted(key.value("not_after", Json())));
  for (const Json& role : list_of(key, "roles")) {
    operation.say("    role: " + role_text(role));
  }
  for (const char* other : {"revoked"}) {
    if (key.contains(other)) {
      operation.say("    " + std::string(other) + " = " + quoted(key.at(other)));
    }
  }
  if (purpose == "operator" || purpose == "approver" || purpose == "service") {
    operation.flag("a key of " + identity + " as " + meaning(kPurposeMeaning, purpose));
  }
  flag_wide_roles(operation, identity);
  if (const Json* trust = operation.known()) {
    compare_key(operation, *trust);
  }
}

void review_revocation(const Operation& operation) {
  const std::string id = text_of(operation.value, "key");
  operation.say("revoke the key " + quoted(Json(id)) +
                " for good: " + quoted(operation.value.value("reason", Json())));
  if (operation.value.contains("since")) {
    operation.say("    signatures that were logged before " + quoted(operation.value.at("since")) +
                  " count on");
  }
  const Json* trust = operation.known();
  if (trust == nullptr) {
    return;
  }
  const Json key = entry(list_of(*trust, "keys"), "id", id);
  if (key.is_null()) {
    operation.flag("the key that is revoked is not known to " + operation.in_force.source);
    return;
  }
  operation.change(
      "key",
      Json{{"identity", key.value("identity", Json())}, {"purpose", key.value("purpose", Json())}},
      nullptr,
      operation.value.contains("since") ? "what it signed since then counts no more"
                                        : "all that it signed counts no more");
  std::set<std::string> operators;
  for (const Json& one : list_of(*trust, "keys")) {
    if (text_of(one, "purpose") == "operator" && !one.contains("revoked") &&
        text_of(one, "id") != id) {
      operators.insert(text_of(one, "identity"));
    }
  }
  if (operators.size() < kTrustChangeThreshold) {
    operation.flag("fewer than two operators are left: nobody could change trust any more");
  }
}

void review_trusted_root(const Operation& operation) {
  const std::string name = text_of(operation.value, "name");
  const Json document = operation.value.value("document", Json());
  const auto text = canonical_json(document);
  operation.say("trusted root " + quoted(Json(name)) + ", " +
                (text ? sha256(as_bytes(*text)).text() : std::string("unreadable")) + ":");
  for (const char* list : {"certificateAuthorities", "tlogs", "ctlogs", "timestampAuthorities"}) {
    operation.say("    " + std::string(list) + ": " +
                  std::to_string(list_of(document, list).size()));
  }
  operation.flag("whoever holds keys of trusted root " + quoted(Json(name)) +
                 " can sign as every keyless identity that names it");
  if (const Json* trust = operation.known()) {
    const Json before = entry(list_of(*trust, "trusted_roots"), "name", name);
    const Json old = before.is_null() ? Json() : before.value("document", Json());
    for (const Difference& one : differences(old, document)) {
      operation.change("document." + one.path, one.before, one.after, "");
    }
  }
}

// --- callers

void review_principal(const Operation& operation) {
  const Json& principal = operation.value;
  const std::string name = quoted(principal.value("name", Json()));
  operation.say("caller " + name + " may:");
  for (const Json& role : list_of(principal, "roles")) {
    operation.say("    " +
                  meaning(kAccessMeaning, role.is_string() ? role.get<std::string>() : "?"));
  }
  for (const Json& credential : list_of(principal, "credentials")) {
    operation.say("    known by a " + quoted(credential.value("kind", Json())) + " with SHA-256 " +
                  quoted(credential.value("sha256", Json())));
  }
  operation.say("    until " + quoted(principal.value("not_after", Json("for ever"))));
  const Json* trust = operation.known();
  if (trust == nullptr || !trust->contains("principals")) {
    return;
  }
  const Json before = entry(list_of(*trust, "principals"), "name", text_of(principal, "name"));
  const Json old_roles = before.is_null() ? Json::array() : list_of(before, "roles");
  for (const Difference& one : differences(old_roles, list_of(principal, "roles"), "roles")) {
    operation.change(one.path, one.before, one.after,
                     one.before.is_null() ? name + " could not do this before" : "");
  }
  if (before.is_null()) {
    operation.change("name", nullptr, principal.value("name", Json()), "");
    return;
  }
  operation.flag("the credentials of " + name +
                 " are replaced by those above; the service does not show the present ones");
  const Json old_end = before.value("not_after", Json());
  const Json new_end = principal.value("not_after", Json());
  if (old_end != new_end) {
    operation.change("not_after", old_end, new_end, "another end");
  }
}

void review_removal(const Operation& operation) {
  operation.say("remove the caller " + quoted(operation.value.value("name", Json())));
  const Json* trust = operation.known();
  if (trust != nullptr && trust->contains("principals")) {
    const Json before =
        entry(list_of(*trust, "principals"), "name", text_of(operation.value, "name"));
    operation.change("roles", before.is_null() ? Json() : before.value("roles", Json()), nullptr,
                     before.is_null() ? "there is no such caller" : "");
  }
}

// --- appraisals

void review_appraisal(const Operation& operation) {
  const std::string type = quoted(operation.value.value("evidence_type", Json()));
  operation.say("evidence of type " + type + " is appraised by:");
  for (const auto& [member, value] : operation.value.items()) {
    if (member == "dangerous_anchors" && value.is_array()) {
      operation.say("    dangerous_anchors: " + std::to_string(value.size()) +
                    " roots beside the vendor's; whoever holds their keys makes evidence of any "
                    "machine");
    } else if (member != "evidence_type") {
      for (const std::string& line : leaves(value, member, operation.limit)) {
        operation.say("    " + line);
      }
    }
  }
  const Json* trust = operation.known();
  if (trust == nullptr || !trust->contains("appraisals")) {
    return;
  }
  // Each stage has an appraisal of its own beside that of nodes.
  Json before;
  for (const Json& known : list_of(*trust, "appraisals")) {
    const bool same =
        text_of(known, "evidence_type") == text_of(operation.value, "evidence_type") &&
        text_of(known, "stage") == text_of(operation.value, "stage");
    before = same ? known : before;
  }
  if (before.is_null()) {
    operation.change("evidence_type", nullptr, operation.value.value("evidence_type", Json()),
                     "nothing was said about such evidence before");
    return;
  }
  for (const Difference& one : differences(with_defaults(before), with_defaults(operation.value))) {
    operation.change(one.path, one.before, one.after, appraisal_flag(one));
  }
}

// --- the rest: without words of their own, in full

void review_other(const Operation& operation, const std::string& name) {
  operation.say(name + ":");
  for (const std::string& line : leaves(operation.value, name, operation.limit)) {
    operation.say("    " + line);
  }
}

// --- reference values

std::string target_of(const Json& value) {
  return appraisal_name(text_of(value, "evidence_type"), text_of(value, "stage"));
}

void review_references(const Operation& operation) {
  const std::string target = target_of(operation.value);
  operation.say("import reference values for evidence of " + quoted(Json(target)) + ":");
  const auto bytes = base64_decode(text_of(operation.value, "document"));
  const auto document =
      bytes ? attestation::corim::read_reference_document(*bytes) : std::unexpected(bytes.error());
  if (!document) {
    operation.flag("the reference values cannot be read: " + document.error().detail);
    return;
  }
  for (const std::string& line : describe_references(*document)) {
    operation.say("    " + line);
  }
  if (!document->envelope) {
    operation.flag("nobody signed these reference values: who signs this change vouches for them");
  }
  const Json* trust = operation.known();
  if (trust == nullptr || !trust->contains("reference_values")) {
    return;
  }
  Json in_force = Json::array();
  for (const Json& tag : list_of(*trust, "reference_values")) {
    if (text_of(tag, "appraisal") == target) {
      in_force.push_back(tag);
    }
  }
  for (const ReferenceChange& change :
       compare_references(tags_json(*document, target), in_force, constrained_in(*trust, target))) {
    const std::string place = "tag[" + change.tag_id + "]." + change.measurement + "[]";
    for (const std::string& value : change.added) {
      operation.change(place, nullptr, value, "machines with this measurement are accepted");
    }
    for (const std::string& value : change.removed) {
      operation.change(place, value, nullptr, "");
    }
  }
}

void review_reference_removal(const Operation& operation) {
  operation.say("reference values of the tag " + quoted(operation.value.value("tag_id", Json())) +
                " for evidence of " + quoted(Json(target_of(operation.value))) +
                " count no more: " + quoted(operation.value.value("reason", Json())));
  if (operation.value.value("dangerous_unconstrain", Json(false)) == Json(true)) {
    operation.flag("measurements that only this tag constrains are looked at no more");
  }
}

void review_node(const Operation& operation) {
  operation.say(
      "revoke the node " + quoted(operation.value.value("node", Json())) +
      " for good, with all that it reported: " + quoted(operation.value.value("reason", Json())));
}

void review_registration(const Operation& operation) {
  for (const std::string& line : describe_registration(operation.value, operation.limit)) {
    operation.say(line);
  }
  const Json* trust = operation.known();
  if (trust == nullptr || !trust->contains("registrations")) {
    return;
  }
  const Json before = entry(list_of(*trust, "registrations"), "id", text_of(operation.value, "id"));
  if (before.is_null()) {
    operation.change("id", nullptr, operation.value.value("id", Json()), "nodes may enrol anew");
    return;
  }
  for (const Difference& one : differences(before, operation.value)) {
    operation.change(one.path, one.before, one.after,
                     registration_flag(one.path, one.before, one.after));
  }
}

using Reviewer = void (*)(const Operation&);
constexpr std::array<std::pair<std::string_view, Reviewer>, 10> kReviewers = {{
    {"add_key", review_key},
    {"revoke_key", review_revocation},
    {"put_trusted_root", review_trusted_root},
    {"put_principal", review_principal},
    {"remove_principal", review_removal},
    {"put_appraisal", review_appraisal},
    {"revoke_node", review_node},
    {"put_registration", review_registration},
    {"put_reference_values", review_references},
    {"remove_reference_values", review_reference_removal},
}};

void check_sequence(const Json& document, const InForce& in_force, Review& review) {
  if (!in_force.trust || !in_force.trust->contains("epochs")) {
    return;
  }
  const Json epoch = in_force.trust->at("epochs").value("trust", Json());
  const Json sequence = document.value("sequence", Json());
  if (!epoch.is_number_unsigned() || sequence != Json(epoch.get<std::uint64_t>() + 1)) {
    review.flags.push_back("made for trust epoch " + quoted(sequence) + ", the service is at " +
                           quoted(epoch) + ": it will not be taken as things are");
  }
}

}  // namespace

Review review_trust_change(const Json& document, const InForce& in_force, bool all) {
  const std::size_t limit = all ? SIZE_MAX : kShownItems;
  Review review;
  const Json& operations = list_of(document, "operations");
  review.title = "change of trust " + quoted(document.value("sequence", Json())) + " with " +
                 std::to_string(operations.size()) +
                 (operations.size() == 1 ? " operation" : " operations");
  std::size_t number = 0;
  for (const Json& one : operations) {
    const std::string place = "operations[" + std::to_string(++number) + "]";
    for (const auto& [member, value] : one.items()) {
      const std::string name = member;
      const Operation operation{place + "." + name, value, in_force, review, limit};
      const auto* known = std::find_if(kReviewers.begin(), kReviewers.end(),
                                       [&](const auto& each) { return each.first == name; });
      if (known == kReviewers.end()) {
        review_other(operation, name);
      } else {
        known->second(operation);
      }
    }
  }
  check_sequence(document, in_force, review);
  if (in_force.trust) {
    review.against = "what is trusted now, says " + in_force.source;
  }
  return review;
}

}  // namespace assay::cli
