// SPDX-License-Identifier: Apache-2.0
#include "server/service/nodes/registration.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <vector>

#include "attestation/identity_token.h"
#include "schemas/core/sha.h"
#include "schemas/log_record.h"
#include "server/service/nodes/devices.h"
#include "server/service/nodes/node_view.h"

namespace assay::server {
namespace {

// Each is held against every other at a change of trust.
constexpr std::size_t kMaxPatterns = 256;
constexpr std::size_t kPage = 1000;

bool has_platform(const Registration& registration, const std::string& platform) {
  return registration.platforms.empty() ||
         std::ranges::find(registration.platforms, platform) != registration.platforms.end();
}

std::unexpected<Error> not_registered(const char* why, const char* where) {
  return fail(ErrorCode::kNodeNotRegistered, why, where);
}

// All registrations, as registration_of() finds them.
class Registry {
 public:
  explicit Registry(std::vector<Registration> registrations) {
    for (Registration& registration : registrations) {
      if (is_pattern(registration.node)) {
        patterns_.push_back(std::move(registration));
      } else {
        names_.emplace(registration.node, std::move(registration));
      }
    }
  }

  [[nodiscard]] Status check() const {
    if (patterns_.size() > kMaxPatterns) {
      return fail(ErrorCode::kLimitExceeded, "there are at most 256 registrations of patterns");
    }
    for (std::size_t i = 0; i < patterns_.size(); ++i) {
      for (std::size_t k = i + 1; k < patterns_.size(); ++k) {
        if (overlap(patterns_[i].node, patterns_[k].node)) {
          return fail(ErrorCode::kConflict, "two registrations would cover the same names",
                      patterns_[i].id + ", " + patterns_[k].id);
        }
      }
    }
    return {};
  }

  [[nodiscard]] const Registration* of(const std::string& node) const {
    if (const auto own = names_.find(node); own != names_.end()) {
      return &own->second;
    }
    const auto pattern = std::ranges::find_if(
        patterns_, [&](const Registration& one) { return covers(one.node, node); });
    return pattern == patterns_.end() ? nullptr : &*pattern;
  }

 private:
  std::map<std::string, Registration> names_;
  std::vector<Registration> patterns_;
};

bool is_live(const storage::NodeRow& node, Timestamp now) {
  return !node.revoked && !node.ended && node.expires_at > now;
}

// Whether the enrolment stands as it would be made today.
bool still_covered(const Registry& registry, const std::set<std::string>& renewed,
                   const storage::NodeRow& node) {
  const Registration* own = registry.of(node.name);
  if (own == nullptr) {
    return node.registration.empty();
  }
  return own->id == node.registration && !renewed.contains(own->id) &&
         own->principal == node.principal && has_platform(*own, node.platform);
}

}  // namespace

Result<std::optional<Registration>> require_registration(const Services& services,
                                                         storage::NodeReads& reads,
                                                         const EnrolmentRequest& request,
                                                         const std::string& principal) {
  auto registration = reads.registration_of(request.node);
  if (!registration) {
    if (registration.error().code != ErrorCode::kNotFound) {
      return std::unexpected(std::move(registration).error());
    }
    if (services.nodes.dangerous_allow_unregistered) {
      return std::nullopt;
    }
    return not_registered("no registration covers the node's name", "/request/node");
  }
  if (registration->principal != principal) {
    return not_registered("the node is registered for another principal", "/request/node");
  }
  if (!has_platform(*registration, request.platform)) {
    return not_registered("the registration does not list the platform", "/request/platform");
  }
  return *std::move(registration);
}

Status verify_identity(const Services& services, const std::optional<Registration>& registration,
                       const Enrolment& enrolment, Timestamp now) {
  const std::string& token = enrolment.identity_token;
  const std::string digest = token.empty() ? "" : sha256(as_bytes(token)).hex();
  if (enrolment.request.identity_token != digest) {
    return fail(ErrorCode::kEnrolmentMismatch, "the request names another identity token",
                "/request/identity_token");
  }
  if (!registration || !registration->service_account) {
    return {};
  }
  if (token.empty()) {
    return fail(ErrorCode::kIdentityTokenMissing,
                "the node's registration needs a ServiceAccount token for " + audience(services),
                "/identity_token");
  }
  ASSAY_ASSIGN(const std::string node,
               attestation::verify_identity_token(token, *registration->service_account,
                                                  audience(services), now));
  if (node != enrolment.request.node) {
    return fail(ErrorCode::kIdentityTokenRejected, "the token was issued on another node",
                "/identity_token");
  }
  return {};
}

Status end_node(storage::Transaction& transaction, storage::NodeRow node,
                const std::string& reason) {
  node.ended = Revocation{transaction.now(), reason};
  ASSAY_TRY(transaction.forget_evidence(node_subject(node.name)));
  ASSAY_TRY(forget_devices(transaction, node));
  ASSAY_TRY(transaction.append({.type = std::string(event::kNodeEnded),
                                .time = transaction.now(),
                                .actor = "system",
                                .subjects = {node_subject(node.name)},
                                .documents = {},
                                .detail = {{"node", node.name},
                                           {"key_id", node.key.text()},
                                           {"registration", node.registration},
                                           {"reason", reason}}}));
  return transaction.put_node(node);
}

Status claim_platform(storage::Transaction& transaction, const storage::NodeRow& node,
                      const std::optional<Registration>& registration) {
  if (node.platform.empty()) {
    return {};
  }
  ASSAY_ASSIGN(auto others, transaction.nodes_on(node.platform, transaction.now()));
  std::erase_if(others, [&](const storage::NodeRow& one) { return one.name == node.name; });
  for (const storage::NodeRow& other : others) {
    if (other.registration != node.registration || other.principal != node.principal) {
      return fail(ErrorCode::kPlatformTaken, "another node is enrolled on this platform",
                  "/request/platform");
    }
  }
  const std::size_t room = registration ? registration->nodes_per_platform : 1;
  std::ranges::sort(others, {}, [](const storage::NodeRow& one) {
    return std::tuple(one.enrolled_at, one.log_index);
  });
  for (std::size_t i = 0; i + room <= others.size(); ++i) {
    ASSAY_TRY(end_node(transaction, std::move(others[i]), "the platform enrolled as " + node.name));
  }
  return {};
}

Status settle_registrations(storage::Transaction& transaction,
                            const std::set<std::string>& renewed) {
  ASSAY_ASSIGN(auto registrations, transaction.registrations());
  const Registry registry(std::move(registrations));
  ASSAY_TRY(registry.check());
  std::string after;
  while (true) {
    ASSAY_ASSIGN(const auto nodes, transaction.nodes(after, kPage));
    for (const storage::NodeRow& node : nodes) {
      if (is_live(node, transaction.now()) && !still_covered(registry, renewed, node)) {
        ASSAY_TRY(end_node(transaction, node, "its registration changed"));
      }
    }
    if (nodes.size() < kPage) {
      return {};
    }
    after = nodes.back().name;
  }
}

}  // namespace assay::server
