// SPDX-License-Identifier: Apache-2.0
// assay node: the nodes that the service knows.
#include <memory>
#include <utility>

#include "cli/client/lists.h"
#include "cli/output.h"
#include "cli/verbs/verbs.h"
#include "schemas/challenge.h"

namespace assay::cli {

namespace {

// What became of evidence that was accepted once.
std::string standing_of(const Json& measured) {
  if (const std::string error = text_at(measured, "error"); !error.empty()) {
    return ", refused by now: " + error;
  }
  const auto current = measured.find("current");
  return current != measured.end() && *current == false ? ", to be appraised again" : "";
}

std::string evidence_of(const Json& node) {
  const auto measured = node.find("measured");
  if (measured == node.end() || !measured->is_object()) {
    return "none";
  }
  const auto vendor = measured->find("anchor_is_vendor");
  const bool is_vendor = vendor != measured->end() && vendor->is_boolean() && vendor->get<bool>();
  // An anchor that is not the vendor's proves nothing about hardware: never without saying so.
  return text_at(*measured, "evidence_type") + " " + text_at(*measured, "tcb_status") +
         (is_vendor ? "" : ", anchor is not the vendor's") + standing_of(*measured);
}

ListView node_view() {
  return {.noun = "node",
          .heads = {"NODE", "STATE", "EVIDENCE", "ENROLLED UNTIL", "PRINCIPAL"},
          .cells = [](const Json& node) -> std::vector<std::string> {
            return {text_at(node, "node"), text_at(node, "state"), evidence_of(node),
                    text_at(node, "expires_at"), text_at(node, "principal")};
          }};
}

Result<Exit> list(const Context& context, const ListFlags& flags) {
  ASSAY_ASSIGN(Api api, open_api(context, flags.connection));
  ASSAY_ASSIGN(Json nodes, fetch_list(api, "/v1/nodes", Query(), flags));
  print_list(context, node_view(), std::move(nodes));
  return Exit::kYes;
}

// Such as "tags of all bytes in 2000 ms".
std::string watch_text(const Json& watch) {
  const std::string share = std::to_string(number_at(watch, "share_percent"));
  return text_at(watch, "check") +
         (share == "100" ? " of all bytes" : " of " + share + " percent") + " in " +
         std::to_string(number_at(watch, "period_ms")) + " ms";
}

// "POD/NAME: STATE", by which check it is watched, and where it changed.
std::string instance_text(const Json& instance) {
  const std::string pod = text_at(instance, "pod");
  std::string text = (pod.empty() ? "" : pod + "/") + text_at(instance, "instance") + ": " +
                     text_at(instance, "state");
  if (const auto watch = instance.find("watch"); watch != instance.end() && watch->is_object()) {
    text += ", " + watch_text(*watch);
  }
  for (const Json& finding : list_at(instance, "findings")) {
    text += "; " + text_at(finding, "tensor") + ": " + text_at(finding, "detail");
  }
  return text;
}

// "UUID: hopper gpu, cc, driver 580.65.06, firmware 96.00.9F.00.01, measured as rim", or why not.
std::string proven_text(const Json& device) {
  std::string text = text_at(device, "uuid") + ": ";
  if (const std::string error = text_at(device, "error"); !error.empty()) {
    return text + "refused, " + error;
  }
  if (device.value("ended", false)) {
    return text + "ended, at " + text_at(device, "valid_until");
  }
  const auto found = device.find("state");
  const Json state = found != device.end() ? *found : Json::object();
  text += text_at(state, "architecture") + " " + text_at(state, "kind");
  for (const char* member : {"mode", "driver", "firmware", "measurements"}) {
    if (const std::string value = text_at(state, member); !value.empty()) {
      text += std::string(", ") + member + " " + value;
    }
  }
  return text + (device.value("current", false) ? "" : ", to be appraised again");
}

void print_node(const Context& context, const Json& node) {
  Table table({"node", text_at(node, "node")});
  table.row({"state", text_at(node, "state")});
  if (const auto revoked = node.find("revoked"); revoked != node.end() && revoked->is_object()) {
    table.row({"revoked", text_at(*revoked, "at") + ": " + text_at(*revoked, "reason")});
  }
  if (const auto lost = node.find("superseded"); lost != node.end() && lost->is_object()) {
    table.row({"superseded", std::to_string(number_at(*lost, "count")) +
                                 " times a worker that was "
                                 "alive, at " +
                                 text_at(*lost, "at") + " that with the key " +
                                 text_at(*lost, "key_id")});
  }
  if (const auto ended = node.find("ended"); ended != node.end() && ended->is_object()) {
    table.row({"ended", text_at(*ended, "at") + ": " + text_at(*ended, "reason")});
  }
  table.row({"principal", text_at(node, "principal")});
  if (const std::string registration = text_at(node, "registration"); !registration.empty()) {
    table.row({"registration", registration});
  }
  table.row({"worker key", text_at(node, "key_id")});
  table.row({"enrolled", text_at(node, "enrolled_at") + " to " + text_at(node, "expires_at")});
  table.row({"evidence", evidence_of(node)});
  if (const auto measured = node.find("measured");
      measured != node.end() && measured->is_object()) {
    table.row({"appraised", text_at(*measured, "appraised_at")});
    table.row({"anchor", text_at(*measured, "anchor")});
    table.row({"platform", text_at(node, "platform")});
  }
  for (const Json& device : list_at(node, "devices")) {
    table.row({"device", text_at(device, "id") + ": " + text_at(device, "name")});
  }
  for (const Json& device : list_at(node, "device_evidence")) {
    table.row({"proven", proven_text(device)});
  }
  for (const Json& instance : list_at(node, "instances")) {
    table.row({"instance", instance_text(instance)});
  }
  print_fields(context, table);
}

Result<Exit> show(const Context& context, const ConnectionFlags& connection,
                  const std::string& name) {
  ASSAY_TRY(check_node_name(name));
  ASSAY_ASSIGN(Api api, open_api(context, connection));
  ASSAY_ASSIGN(const Json node, api.get("/v1/nodes/" + percent_encode(name)));
  if (context.json()) {
    print_json(node);
  } else {
    print_node(context, node);
  }
  return Exit::kYes;
}

}  // namespace

void add_node(const Command& root, Context& context) {
  const Command group = root.add("node", "Nodes that enrolled");
  auto flags = std::make_shared<ListFlags>();
  const Command list_verb = group.add("list", "Print the nodes, whether they count, and why");
  add_list_options(list_verb, *flags);
  list_verb.example("assay node list", "see who is enrolled, with which evidence, and until when");
  list_verb.action([flags, &context] { return list(context, *flags); });

  auto connection = std::make_shared<ConnectionFlags>();
  auto name = std::make_shared<std::string>();
  const Command show_verb = group.add("show", "Print one node");
  show_verb.argument("NAME", *name, "name of the node");
  add_connection_options(show_verb, *connection);
  show_verb.note("A node is revoked with 'assay trust change --revoke-node'.");
  show_verb.example("assay node show gpu-node-1", "see a node's key, evidence and devices");
  show_verb.action([connection, name, &context] { return show(context, *connection, *name); });
}

}  // namespace assay::cli
