// SPDX-License-Identifier: Apache-2.0
#include "cli/verbs/instance_front.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <limits>
#include <string_view>
#include <system_error>
#include <utility>

#include "cli/verbs/worker_reader.h"

namespace assay::cli {
namespace {

Json members_of(const worker::Owner& owner) {
  const InstanceRegistration& registration = owner.registration();
  return {{"registration", owner.id()},          {"pod", owner.peer().pod},
          {"container", owner.peer().container}, {"pid", owner.peer().pid},
          {"instance", registration.instance},   {"rank", registration.rank},
          {"world", registration.world},         {"artifact", registration.artifact.text()}};
}

// The greatest number is none: (uid_t)-1 means no user.
Result<worker::PeerRules> rules_of(const RegisterOptions& options) {
  worker::PeerRules rules;
  for (const std::string& text : options.uids) {
    std::uint32_t uid = std::numeric_limits<std::uint32_t>::max();
    const auto parsed = std::from_chars(text.data(), text.data() + text.size(), uid);
    if (parsed.ec != std::errc() || parsed.ptr != text.data() + text.size() ||
        uid == std::numeric_limits<std::uint32_t>::max()) {
      return fail(ErrorCode::kUsage, "--register-uid is a number of at most 4294967294", text);
    }
    rules.uids.push_back(uid);
  }
  return rules;
}

constexpr std::array kWatchChecks = {WatchCheck::kTags, WatchCheck::kSha256, WatchCheck::kRandom};

// Reads "500ms", "2s", "10m" or "1h"; without a text `into` stays as it is.
Status read_duration(const char* option, const std::string& text, std::chrono::milliseconds& into) {
  if (text.empty()) {
    return {};
  }
  constexpr std::array<std::pair<std::string_view, std::uint64_t>, 4> kUnits = {
      {{"ms", 1}, {"s", 1'000}, {"m", 60'000}, {"h", 3'600'000}}};
  constexpr std::uint64_t kMost = 1'000'000;  // of any unit
  std::uint64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, number);
  const auto* const unit = std::ranges::find(kUnits, std::string_view(parsed.ptr, end),
                                             &decltype(kUnits)::value_type::first);
  if (parsed.ec != std::errc() || number == 0 || number > kMost || unit == kUnits.end()) {
    return fail(ErrorCode::kUsage,
                std::string(option) + " is a number and a unit: 500ms, 2s, 10m, 1h", text);
  }
  into = std::chrono::milliseconds(number * unit->second);
  return {};
}

}  // namespace

void add_register_options(const Command& verb, RegisterOptions& options) {
  verb.option("--register-socket", options.socket, "PATH",
              "Unix socket at which processes register the memory that holds their model "
              "(docs/instances.md); its directory exists (default: none)");
  verb.option("--register-uid", options.uids, "UID",
              "let processes of this user id register from outside of every pod, for hosts without "
              "Kubernetes; may be given again (default: none)");
  WatchOptions& watch = options.watch;
  verb.option(
      "--watch-period", watch.period, "TIME",
      "look at all bytes of registered memory once in this time, 100ms to 60s (default 2s)");
  verb.option("--watch-slices", watch.slices, "N",
              "in so many parts: more of them disturb a step less, fewer cost less throughput "
              "(default 9)");
  verb.option("--watch-full", watch.full, "TIME",
              "hash everything with SHA-256, through fresh descriptors, once in this time "
              "(default 1h)");
  std::vector<std::string> checks;
  for (const WatchCheck check : kWatchChecks) {
    checks.emplace_back(name(check));
  }
  verb.choice("--watch-check", watch.check, checks,
              "what a look is: keyed tags where the device has them (default), SHA-256, or keyed "
              "tags of parts that are drawn at random");
  verb.option("--watch-share", watch.share, "PERCENT",
              "share of the bytes that --watch-check random looks at in a period, 1 to 99; all of "
              "them are looked at within 60s");
  verb.option("--reader-timeout", options.reader_seconds, "SECONDS",
              "kill a process that reads memory of a device when it says nothing for so long while "
              "it should (default 30)");
}

Status check(const RegisterOptions& options) {
  if (options.socket.empty() && !options.uids.empty()) {
    return fail(ErrorCode::kUsage, "--register-uid needs --register-socket");
  }
  if (!options.socket.empty() && !options.socket.starts_with('/')) {
    return fail(ErrorCode::kUsage, "--register-socket is an absolute path", options.socket);
  }
  if (options.reader_seconds && (*options.reader_seconds < 1 || *options.reader_seconds > 3600)) {
    return fail(ErrorCode::kUsage, "--reader-timeout is from 1 to 3600 seconds");
  }
  ASSAY_TRY(rules_of(options));
  if (options.socket.empty() && options.watch != WatchOptions()) {
    return fail(ErrorCode::kUsage, "--watch-... needs --register-socket");
  }
  ASSAY_TRY(watch_plan_of(options.watch));
  return {};
}

Result<worker::WatchPlan> watch_plan_of(const WatchOptions& options) {
  worker::WatchPlan plan;
  ASSAY_TRY(read_duration("--watch-period", options.period, plan.period));
  ASSAY_TRY(read_duration("--watch-full", options.full, plan.full));
  constexpr std::uint64_t kTooMany = 1'000'000;
  plan.slices = static_cast<unsigned>(std::min(options.slices.value_or(plan.slices), kTooMany));
  plan.share = static_cast<unsigned>(std::min(options.share.value_or(plan.share), kTooMany));
  if (!options.check.empty()) {
    ASSAY_ASSIGN(plan.check, watch_check_from(options.check));
  }
  if (plan.check == WatchCheck::kRandom && !options.share) {
    return fail(ErrorCode::kUsage, "--watch-check random needs --watch-share");
  }
  if (const Status status = worker::check(plan); !status) {
    return fail(ErrorCode::kUsage, "--watch-...: " + status.error().detail);
  }
  return plan;
}

Json watch_json(const worker::WatchPlan& plan) {
  return {{"check", name(plan.check)},
          {"share_percent", plan.share},
          {"period_ms", plan.period.count()},
          {"slices", plan.slices},
          {"full_ms", plan.full.count()}};
}

void InstanceEvents::came(const std::shared_ptr<worker::Owner>& owner) {
  events_.tell("registered", members_of(*owner));
}

void InstanceEvents::changed(const std::shared_ptr<worker::Owner>& owner,
                             std::span<const std::string> tensors) {
  Json members = members_of(*owner);
  members["tensors"] = std::vector<std::string>(tensors.begin(), tensors.end());
  events_.tell("storage-changed", std::move(members));
}

void InstanceEvents::gone(const worker::Owner& owner) {
  events_.tell("unregistered", members_of(owner));
}

void InstanceEvents::refused(const worker::Refusal& refusal) {
  events_.tell("registration-refused", {{"pod", refusal.pod},
                                        {"container", refusal.container},
                                        {"pid", refusal.pid},
                                        {"instance", refusal.instance},
                                        {"code", refusal.code},
                                        {"detail", refusal.detail}});
}

InstanceFront::InstanceFront(const Context& context, worker::PeerRules rules,
                             const worker::Parts& parts, worker::ReadersSetup reading,
                             worker::Service sender, const worker::WatchPlan& plan)
    : service(std::move(sender)),
      readers(parts.engine, std::move(reading)),
      told(parts.events),
      memory(
          parts.node, parts.signer, parts.events,
          [this, node = parts.node](ByteView envelope) {
            return service.heartbeat(node, envelope);
          },
          plan),
      shared(context.clock, context.random, registry, std::move(rules)) {
  registry.watch(told);
  registry.watch(memory);
}

Result<std::unique_ptr<InstanceFront>> open_instance_front(const Context& context,
                                                           const RegisterOptions& options,
                                                           std::uint64_t threads,
                                                           worker::Parts& parts,
                                                           worker::Service service) {
  if (options.socket.empty()) {
    return std::unique_ptr<InstanceFront>();
  }
  ASSAY_ASSIGN(worker::PeerRules rules, rules_of(options));
  ASSAY_ASSIGN(const worker::WatchPlan plan, watch_plan_of(options.watch));
  auto front = std::make_unique<InstanceFront>(
      context, std::move(rules), parts, readers_of(context, options.reader_seconds, threads, parts),
      std::move(service), plan);
  ASSAY_ASSIGN(front->listener, worker::InstanceListener::open(options.socket, front->shared));
  parts.instances = &front->registry;
  parts.checks = &front->readers;
  parts.watch = &front->memory.watch();
  parts.driver = &front->driver;
  return front;
}

}  // namespace assay::cli
