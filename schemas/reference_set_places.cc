// SPDX-License-Identifier: Apache-2.0
// Where the conditions of policies may name reference sets.
#include "schemas/policy_document.h"

namespace assay {
namespace {

using Visit = std::function<void(const SetPlace&)>;

class Places {
 public:
  explicit Places(const Visit& visit) : visit_(visit) {}

  void texts(std::string where, SetKind kind, std::vector<std::string>& list) {
    visit_({std::move(where), kind, &list});
  }
  void signers(const std::string& where, SignerRequirement& signers) {
    texts(where + "/signers/identities", SetKind::kIdentities, signers.identities);
  }
  void tests(const std::string& where, std::vector<PredicateTest>& tests) {
    for (std::size_t i = 0; i < tests.size(); ++i) {
      const std::string place = where + "/" + std::to_string(i);
      if (tests[i].items) {
        this->tests(place + "/where", tests[i].where);
      } else if (tests[i].type == ValueType::kPlain) {
        visit_({place + "/value", SetKind::kValues, nullptr, &tests[i].value});
      }
    }
  }
  void boot(const std::string& where, std::optional<BootDemands>& boot) {
    if (boot) {
      texts(where + "/boot/kernels", SetKind::kMeasurements, boot->kernels);
      texts(where + "/boot/initrds", SetKind::kMeasurements, boot->initrds);
      texts(where + "/boot/others", SetKind::kMeasurements, boot->others);
    }
  }
  void node(NodeCondition& node) {
    texts("/node/anchors", SetKind::kDigests, node.anchors);
    boot("/node", node.boot);
  }
  void evidence(const std::string& where, EvidenceDemands& evidence) {
    texts(where + "/anchors", SetKind::kDigests, evidence.anchors);
    for (auto& [measurement, values] : evidence.reference_values) {
      texts(where + "/reference_values/" + measurement, SetKind::kMeasurements, values);
    }
    boot(where, evidence.boot);
  }
  void statement(StatementCondition& statement) {
    signers("/statement", statement.signers);
    tests("/statement/where", statement.where);
    texts("/statement/considered/identities", SetKind::kIdentities, statement.considered);
    if (statement.evidence) {
      evidence("/statement/evidence", *statement.evidence);
    }
  }
  void lineage(LineageCondition& lineage) {
    texts("/lineage/leaves", SetKind::kPatterns, lineage.leaves);
    for (std::size_t i = 0; i < lineage.edges.size(); ++i) {
      const std::string edge = "/lineage/edges/" + std::to_string(i);
      texts(edge + "/signers/identities", SetKind::kIdentities, lineage.edges[i].identities);
      if (lineage.edges[i].evidence) {
        evidence(edge + "/evidence", *lineage.edges[i].evidence);
      }
    }
    LineageDeny& deny = lineage.deny;
    texts("/lineage/deny/digests", SetKind::kDigests, deny.digests);
    texts("/lineage/deny/names", SetKind::kPatterns, deny.names);
    texts("/lineage/deny/keys", SetKind::kDigests, deny.keys);
    texts("/lineage/deny/identities", SetKind::kIdentities, deny.identities);
    if (lineage.licences) {
      texts("/lineage/licences/allow", SetKind::kLicences, lineage.licences->allow);
      texts("/lineage/licences/deny", SetKind::kLicences, lineage.licences->deny);
    }
  }
  void request(RequestCondition& request) {
    texts("/request/users", SetKind::kPatterns, request.users);
    texts("/request/groups", SetKind::kPatterns, request.groups);
    texts("/request/service_accounts", SetKind::kPatterns, request.service_accounts);
    texts("/request/principals", SetKind::kPatterns, request.principals);
  }

 private:
  const Visit& visit_;
};

bool is_name(std::string_view name) {
  constexpr std::size_t kMaxName = 64;
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  if (name.empty() || name.size() > kMaxName || !letter(name.front()) || !letter(name.back())) {
    return false;
  }
  for (std::size_t i = 0; i < name.size(); ++i) {
    if (!letter(name[i]) && (name[i] != '-' || name[i - 1] == '-')) {
      return false;
    }
  }
  return true;
}

// Parts of a combined condition, and the member that holds them; a `not` has no list there.
struct Parts {
  std::vector<Condition>* list = nullptr;
  const char* member = "";
  bool only = false;
};

Parts parts_of(Condition& condition) {
  if (auto* all = std::get_if<AllCondition>(&condition.kind)) {
    return {&all->of, "/all"};
  }
  if (auto* any = std::get_if<AnyCondition>(&condition.kind)) {
    return {&any->of, "/any"};
  }
  if (auto* negation = std::get_if<NotCondition>(&condition.kind)) {
    return {&negation->of, "/not", true};
  }
  if (auto* at_least = std::get_if<AtLeastCondition>(&condition.kind)) {
    return {&at_least->of, "/at_least/of"};
  }
  return {};
}

Status mark(Condition& condition, const std::string& where) {
  const Parts parts = parts_of(condition);
  if (parts.list != nullptr) {
    for (std::size_t i = 0; i < parts.list->size(); ++i) {
      ASSAY_TRY(mark((*parts.list)[i],
                     where + parts.member + (parts.only ? "" : "/" + std::to_string(i))));
    }
    return {};
  }
  Status status;
  const auto note = [&](std::string_view name, const std::string& place) {
    if (!is_name(name) && status) {
      status = fail(ErrorCode::kPolicyInvalid, "no reference set can have this name", place);
    } else if (!condition.open_set) {
      condition.open_set = OpenSet{std::string(name), Reason::kReferenceSetMissing};
    }
  };
  for_each_set_place(condition, [&](const SetPlace& place) {
    const std::size_t size = place.texts != nullptr     ? place.texts->size()
                             : place.values->is_array() ? place.values->size()
                                                        : 0;
    for (std::size_t i = 0; i < size; ++i) {
      const std::string* entry = place.texts != nullptr ? &(*place.texts)[i] : nullptr;
      if (entry == nullptr && (*place.values)[i].is_string()) {
        entry = (*place.values)[i].get_ptr<const std::string*>();
      }
      const auto name = entry != nullptr ? named_set(*entry) : std::nullopt;
      if (name) {
        note(*name, where + place.where + "/" + std::to_string(i));
      }
    }
  });
  return status;
}

}  // namespace

void for_each_set_place(Condition& condition, const Visit& visit) {
  Places places(visit);
  if (auto* manifest = std::get_if<ManifestCondition>(&condition.kind)) {
    places.signers("/manifest", manifest->signers);
  } else if (auto* statement = std::get_if<StatementCondition>(&condition.kind)) {
    places.statement(*statement);
  } else if (auto* node = std::get_if<NodeCondition>(&condition.kind)) {
    places.node(*node);
  } else if (auto* lineage = std::get_if<LineageCondition>(&condition.kind)) {
    places.lineage(*lineage);
  } else if (auto* request = std::get_if<RequestCondition>(&condition.kind)) {
    places.request(*request);
  }
}

Status mark_sets(std::vector<Condition>& conditions, const std::string& where) {
  for (std::size_t i = 0; i < conditions.size(); ++i) {
    ASSAY_TRY(mark(conditions[i], where + "/" + std::to_string(i)));
  }
  return {};
}

}  // namespace assay
