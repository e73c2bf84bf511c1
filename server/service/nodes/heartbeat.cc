// SPDX-License-Identifier: Apache-2.0
#include "server/service/nodes/heartbeat.h"

#include <algorithm>
#include <map>
#include <set>

#include "attestation/dsse.h"
#include "attestation/single_signature.h"
#include "schemas/log_record.h"
#include "server/service/nodes/enrol.h"
#include "server/service/nodes/node_view.h"

namespace assay::server {
namespace {

// In place of a state, of an instance that the agent does not name any more.
constexpr std::string_view kGone = "gone";

// Findings in one record: a record with as many changes as there are instances stays below its
// limit.
constexpr std::size_t kMostFindings = 8;

struct Taken {
  storage::NodeRow node;
  Heartbeat heartbeat;
};

// Everything that is known of the sender without looking at earlier heartbeats.
Result<Taken> open(Services& services, const std::string& node, ByteView bytes,
                   const Principal& actor, Timestamp now) {
  ASSAY_ASSIGN(const auto snapshot, services.store.snapshot());
  ASSAY_ASSIGN(storage::NodeRow row, owned_node(*snapshot, node, actor));
  ASSAY_TRY(require_active(row, now));
  ASSAY_ASSIGN(const attestation::Envelope envelope, attestation::parse_envelope(bytes));
  if (envelope.payload_type != kHeartbeatPayloadType) {
    return fail(ErrorCode::kPayloadTypeUnknown, "this route takes envelopes with payloadType " +
                                                    std::string(kHeartbeatPayloadType));
  }
  ASSAY_TRY(attestation::verify_single_signature(envelope, row.public_key));
  ASSAY_ASSIGN(Heartbeat heartbeat, parse_heartbeat(envelope.payload));
  if (heartbeat.node != node) {
    return fail(ErrorCode::kReportMismatch, "the heartbeat is of another node", "/node");
  }
  return Taken{std::move(row), std::move(heartbeat)};
}

struct Change {
  const InstanceBeat* instance;
  std::string_view before;  // empty: it was not there
  std::string_view state;
};

const InstanceBeat* find(const std::vector<InstanceBeat>& list, const InstanceBeat& wanted) {
  const auto found = std::ranges::find_if(list, [&](const InstanceBeat& one) {
    return one.instance == wanted.instance && one.artifact == wanted.artifact;
  });
  return found == list.end() ? nullptr : &*found;
}

// Another report of the same state is no change: reports have records of their own. Where a
// violated instance changed is found after it was called violated, and is a change of its own.
std::vector<Change> changes_between(const std::vector<InstanceBeat>& before,
                                    const std::vector<InstanceBeat>& after) {
  std::vector<Change> changes;
  for (const InstanceBeat& one : after) {
    const InstanceBeat* known = find(before, one);
    if (known == nullptr || known->state != one.state || known->findings != one.findings) {
      changes.push_back(
          {&one, known == nullptr ? std::string_view() : name(known->state), name(one.state)});
    }
  }
  for (const InstanceBeat& one : before) {
    if (find(after, one) == nullptr) {
      changes.push_back({&one, name(one.state), kGone});
    }
  }
  return changes;
}

// What a heartbeat changes and a job was about, and the pods whose changes are beyond their limit
// for the first time.
struct Accounted {
  struct Spent {
    std::string name_space;
    std::size_t changes;
  };
  std::vector<Change> changes;
  std::vector<std::string> refused;
  std::map<std::string, Spent> spent;  // by pod
  bool unlogged = false;               // something changed that no job was about
};

// Whether a report or an open job is about the instance. In doubt there is one.
bool job_was_about(storage::Snapshot& snapshot, const std::string& node, const InstanceBeat& beat) {
  if (beat.report) {
    return true;
  }
  const auto job =
      snapshot.newest_report(node, beat.artifact, std::string(name(JobScope::kDeviceMemory)),
                             {.location = {},
                              .pod = beat.instance.pod,
                              .pod_volume = {},
                              .instance = beat.instance.instance});
  return job || job.error().code != ErrorCode::kNotFound;
}

// The cluster and the namespace of a pod. A node agent knows the uid alone, so each cluster is
// asked. Empty: no cluster has reported such a pod, or its row cannot be read.
std::string namespace_of(storage::Snapshot& snapshot, const std::string& uid) {
  const std::string behind_each_uid = "\xff";  // in no UTF-8
  storage::PodKey after;
  for (;;) {
    const auto next = snapshot.pods(after, 1);
    if (!next || next->empty()) {
      return {};
    }
    const std::string& cluster = next->front().cluster;
    if (const auto pod = snapshot.pod(cluster, uid)) {
      return cluster + "/" + pod->name_space;
    }
    after = {cluster, behind_each_uid};
  }
}

// Charges each pod, within the share of its namespace, for its own changes. A pod beyond its limit
// has no instances any more. What no job was about costs nothing, so that it is nobody's budget.
Result<Accounted> account(Services& services, const std::string& node,
                          const std::vector<Change>& changes, Timestamp now) {
  ASSAY_ASSIGN(const auto snapshot, services.store.snapshot());
  Accounted accounted;
  std::map<std::string, std::vector<Change>> by_pod;
  for (const Change& change : changes) {
    if (job_was_about(*snapshot, node, *change.instance)) {
      by_pod[change.instance->instance.pod].push_back(change);
    } else {
      accounted.unlogged = true;
    }
  }
  for (const auto& [pod, own] : by_pod) {
    const std::string name_space = namespace_of(*snapshot, pod);
    const Heartbeats::Spent spent =
        services.heartbeats.spend(node, name_space, pod, own.size(), now);
    if (spent == Heartbeats::Spent::kYes) {
      accounted.spent.insert({pod, {name_space, own.size()}});
      accounted.changes.insert(accounted.changes.end(), own.begin(), own.end());
      continue;
    }
    services.heartbeats.forget(node, pod);
    if (spent == Heartbeats::Spent::kRefusedFirst) {
      accounted.refused.push_back(pod);
    }
  }
  return accounted;
}

LogRecord record_of(const storage::NodeRow& node, const Accounted& accounted, Timestamp now,
                    const std::string& actor) {
  std::set<std::string> subjects = {node_subject(node.name)};
  Json list = Json::array();
  std::size_t findings = 0;
  for (const Change& change : accounted.changes) {
    subjects.insert(change.instance->artifact.text());
    list.push_back({{"pod", change.instance->instance.pod},
                    {"instance", change.instance->instance.instance},
                    {"artifact", change.instance->artifact.text()},
                    {"before", change.before},
                    {"state", change.state}});
    for (const BeatFinding& finding : change.instance->findings) {
      if (change.state != kGone && ++findings <= kMostFindings) {
        list.back()["findings"].push_back(to_json(finding));
      }
    }
  }
  return {.type = std::string(event::kInstanceChanged),
          .time = now,
          .actor = actor,
          .subjects = {subjects.begin(), subjects.end()},
          .documents = {},
          .detail = {{"node", node.name},
                     {"instances", std::move(list)},
                     {"pods_beyond_limit", accounted.refused}}};
}

// Also raises the node's version: putting its row does. What no job was about is not logged.
Status log_changes(Services& services, const Taken& taken, const Accounted& accounted,
                   const Principal& actor) {
  const auto written = services.store.write([&](storage::Transaction& transaction) -> Status {
    ASSAY_ASSIGN(const storage::NodeRow row, owned_node(transaction, taken.node.name, actor));
    if (row.key != taken.node.key) {
      return fail(ErrorCode::kUntrustedSigner, "the node has enrolled with another key meanwhile");
    }
    if (!accounted.changes.empty() || !accounted.refused.empty()) {
      ASSAY_TRY(transaction.append(record_of(row, accounted, transaction.now(), actor.name)));
    }
    return transaction.put_node(row);
  });
  return written ? Status() : std::unexpected(written.error());
}

// Accounts for what changed since `before`, and logs it.
Status count_changes(Services& services, const Taken& taken,
                     const std::vector<InstanceBeat>& before, const Principal& actor,
                     Timestamp now) {
  const std::vector<Change> changes = changes_between(before, taken.heartbeat.instances);
  if (changes.empty()) {
    return {};
  }
  ASSAY_ASSIGN(const Accounted accounted, account(services, taken.node.name, changes, now));
  const bool any = !accounted.changes.empty() || !accounted.refused.empty() || accounted.unlogged;
  Status logged = any ? log_changes(services, taken, accounted, actor) : Status();
  for (const auto& [pod, spent] : logged ? decltype(accounted.spent)() : accounted.spent) {
    services.heartbeats.give_back(taken.node.name, spent.name_space, pod, spent.changes, now);
  }
  return logged;
}

}  // namespace

Result<HeartbeatAnswer> take_heartbeat(Services& services, const std::string& node,
                                       ByteView envelope, const Principal& actor) {
  const Timestamp now = services.clock.now();
  ASSAY_ASSIGN(Taken taken, open(services, node, envelope, actor, now));
  services.last_seen.note(node, now);
  ASSAY_ASSIGN(const Nonce session, services.heartbeats.session(services.random));
  const std::uint64_t sequence = taken.heartbeat.sequence;
  std::optional<std::vector<InstanceBeat>> before;
  if (taken.heartbeat.session == session) {
    before =
        services.heartbeats.note(node, {taken.node.key, sequence, taken.heartbeat.instances, now});
  }
  if (!before) {
    const auto newest = services.heartbeats.of(node);
    const bool known = newest && newest->key == taken.node.key;
    return HeartbeatAnswer{false, session, known ? newest->sequence : 0};
  }
  if (auto counted = count_changes(services, taken, *before, actor, now); !counted) {
    services.heartbeats.forget(node);  // what is not in the log does not count
    return std::unexpected(std::move(counted).error());
  }
  return HeartbeatAnswer{true, session, sequence};
}

}  // namespace assay::server
