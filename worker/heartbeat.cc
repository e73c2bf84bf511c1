// SPDX-License-Identifier: Apache-2.0
#include "worker/heartbeat.h"

#include <algorithm>
#include <array>
#include <exception>
#include <utility>

#include "attestation/dsse.h"
#include "schemas/core/json.h"

namespace assay::worker {

Heartbeats::Heartbeats(std::string node, const Signer& signer, Beats beats, Send send,
                       OnTrouble on_trouble, std::chrono::milliseconds period)
    : node_(std::move(node)),
      signer_(signer),
      beats_(std::move(beats)),
      send_(std::move(send)),
      on_trouble_(std::move(on_trouble)),
      period_(period),
      thread_([this](const std::stop_token& stop) { run(stop); }) {}

void Heartbeats::hurry() {
  const std::scoped_lock lock(mutex_);
  hurry_ = true;
  changed_.notify_all();
}

// Whether one was sent; nullopt when there is nothing to say.
std::optional<Status> Heartbeats::try_beat() {
  try {
    std::vector<InstanceBeat> instances = beats_();
    return instances.empty() ? std::nullopt : std::optional(beat(std::move(instances)));
  } catch (const std::exception& error) {  // the system has no more memory
    return fail(ErrorCode::kInternal, error.what());
  }
}

void Heartbeats::run(const std::stop_token& stop) {
  bool works = true;
  while (!stop.stop_requested()) {
    if (const std::optional<Status> sent = try_beat(); sent && sent->has_value() != works) {
      works = sent->has_value();
      on_trouble_(works ? nullptr : &sent->error());
    }
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, stop, period_, [this] { return hurry_; });
    hurry_ = false;
  }
}

Result<HeartbeatAnswer> Heartbeats::send_one(const std::vector<InstanceBeat>& instances) {
  const Heartbeat heartbeat{node_, session_, ++sequence_, instances};
  ASSAY_ASSIGN(const std::string payload, canonical_json(to_json(heartbeat)));
  const std::array<const Signer*, 1> signers = {&signer_};
  ASSAY_ASSIGN(const attestation::Envelope envelope,
               attestation::sign_envelope(kHeartbeatPayloadType, as_bytes(payload), signers));
  const std::string text = attestation::encode_envelope(envelope);
  ASSAY_ASSIGN(HeartbeatAnswer answer, send_(as_bytes(text)));
  session_ = answer.session;
  sequence_ = std::max(sequence_, answer.sequence);
  return answer;
}

Status Heartbeats::beat(std::vector<InstanceBeat> instances) {
  ASSAY_ASSIGN(HeartbeatAnswer answer, send_one(instances));
  if (!answer.counts) {
    ASSAY_ASSIGN(answer, send_one(instances));
  }
  return answer.counts ? Status()
                       : fail(ErrorCode::kConflict, "The service counts no heartbeat of this node");
}

}  // namespace assay::worker
