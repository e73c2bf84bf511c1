// SPDX-License-Identifier: Apache-2.0
#include "server/service/impact/note_affected.h"

#include <algorithm>
#include <set>

#include "schemas/core/json_at.h"
#include "schemas/log_record.h"
#include "server/service/impact/pod_impact.h"
#include "server/service/kubernetes/review.h"

namespace assay::server {
namespace {

// Of each name in the record, so that it stays below the limit of records.
constexpr std::size_t kMaxName = 64;
constexpr std::size_t kPage = 1000;

// What is noted of the pods so far.
struct Noted {
  std::uint64_t count = 0;
  std::uint64_t examined = 0;
  std::uint64_t undecided = 0;
  std::string next{};  // empty: all pods were looked at
  Json pods = Json::array();
  std::set<std::string> models{};

  void add(const Json& page) {
    examined += page["examined"].get<std::uint64_t>();
    undecided += page["undecided"].get<std::uint64_t>();
    next = page.value("next", "");
    for (const Json& item : page["items"]) {
      ++count;
      if (pods.size() >= kMaxPodsNamed) {
        continue;
      }
      Json pod = {{"reasons", item["reasons"]}};
      for (const char* const member : {"cluster", "uid", "namespace", "name"}) {
        pod[member] = clip(item[member].get<std::string>(), kMaxName);
      }
      pods.push_back(std::move(pod));
      for (const Json& model : item["models"]) {
        models.insert(model.get<std::string>());
      }
    }
  }
};

}  // namespace

Result<std::uint64_t> note_affected(Services& services, std::size_t most) {
  ASSAY_ASSIGN(auto snapshot, services.store.snapshot());
  ASSAY_ASSIGN(const storage::Epochs epochs, snapshot->epochs());
  snapshot.reset();
  Noted noted;
  do {
    const std::size_t left = std::min(most - noted.examined, kMaxPodsExamined);
    ASSAY_ASSIGN(
        const Json page,
        affected_pods_out_of_turn(
            services, {.after = noted.next, .limit = kPage, .examine = left, .by_revocation = true},
            {}));
    noted.add(page);
  } while (!noted.next.empty() && noted.examined < most);
  if (noted.count == 0) {
    return 0;
  }
  const LogRecord record{.type = std::string(event::kPodsAffected),
                         .time = services.clock.now(),
                         .actor = "system",
                         .subjects = {noted.models.begin(), noted.models.end()},
                         .documents = {},
                         .detail = {{"revocation_epoch", epochs.trust.revocation},
                                    {"count", noted.count},
                                    {"examined", noted.examined},
                                    {"complete", noted.next.empty() && noted.undecided == 0},
                                    {"pods", std::move(noted.pods)}}};
  const auto work = [&record](storage::Transaction& transaction) -> Status {
    ASSAY_TRY(transaction.append(record));
    return {};
  };
  ASSAY_TRY(services.store.write(work));
  return noted.count;
}

Result<std::uint64_t> noted_revocations(storage::Snapshot& snapshot) {
  storage::EventQuery query;
  query.type = std::string(event::kPodsAffected);
  query.bounds.limit = kPage;
  std::uint64_t noted = 0;
  do {
    ASSAY_ASSIGN(const auto page, snapshot.events(query));
    if (!page.items.empty()) {
      const Json& epoch = member_at(page.items.back().record.detail, "revocation_epoch");
      if (!epoch.is_number_unsigned()) {
        return fail(ErrorCode::kDataLoss, "the record of affected pods cannot be read");
      }
      noted = epoch.get<std::uint64_t>();
    }
    query.bounds.after = page.next;
  } while (query.bounds.after);
  return noted;
}

}  // namespace assay::server
