// SPDX-License-Identifier: Apache-2.0
#include "cli/verbs/instance_front.h"

#include <charconv>
#include <limits>
#include <system_error>
#include <utility>

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

}  // namespace

void add_register_options(const Command& verb, RegisterOptions& options) {
  verb.option("--register-socket", options.socket, "PATH",
              "Unix socket at which processes register the memory that holds their model "
              "(docs/instances.md); its directory exists (default: none)");
  verb.option("--register-uid", options.uids, "UID",
              "let processes of this user id register from outside of every pod, for hosts without "
              "Kubernetes; may be given again (default: none)");
}

Status check(const RegisterOptions& options) {
  if (options.socket.empty() && !options.uids.empty()) {
    return fail(ErrorCode::kUsage, "--register-uid needs --register-socket");
  }
  if (!options.socket.empty() && !options.socket.starts_with('/')) {
    return fail(ErrorCode::kUsage, "--register-socket is an absolute path", options.socket);
  }
  ASSAY_TRY(rules_of(options));
  return {};
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

InstanceFront::InstanceFront(const Context& context, worker::PeerRules rules,
                             const worker::Parts& parts, worker::Service sender)
    : service(std::move(sender)),
      told(parts.events),
      memory(parts.node, parts.signer, parts.events,
             [this, node = parts.node](ByteView envelope) {
               return service.heartbeat(node, envelope);
             }),
      shared(context.clock, context.random, registry, std::move(rules)) {
  registry.watch(told);
  registry.watch(memory);
}

Result<std::unique_ptr<InstanceFront>> open_instance_front(const Context& context,
                                                           const RegisterOptions& options,
                                                           worker::Parts& parts,
                                                           worker::Service service) {
  if (options.socket.empty()) {
    return std::unique_ptr<InstanceFront>();
  }
  ASSAY_ASSIGN(worker::PeerRules rules, rules_of(options));
  auto front =
      std::make_unique<InstanceFront>(context, std::move(rules), parts, std::move(service));
  ASSAY_ASSIGN(front->listener, worker::InstanceListener::open(options.socket, front->shared));
  parts.instances = &front->registry;
  parts.watch = &front->memory.watch();
  parts.driver = &front->driver;
  return front;
}

}  // namespace assay::cli
