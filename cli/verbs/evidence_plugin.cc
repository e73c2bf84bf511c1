// SPDX-License-Identifier: Apache-2.0
// assay evidence plugin: verifier plug-ins, for those who write and those who configure them.
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "attestation/plugin/conformance.h"
#include "attestation/plugin/plugin_verifier.h"
#include "cli/output.h"
#include "cli/verbs/evidence.h"
#include "client/files.h"

namespace assay::cli {

namespace {

namespace plugin = attestation::plugin;

struct CheckOptions {
  std::string file;
  std::string vectors;
  std::string host;
  std::uint64_t deadline_ms = 2'000;
};

Json checks_json(const std::vector<plugin::ConformanceCheck>& checks) {
  Json list = Json::array();
  for (const plugin::ConformanceCheck& check : checks) {
    list.push_back({{"vector", check.vector},
                    {"check", check.check},
                    {"outcome", check.passed ? "pass" : "fail"},
                    {"detail", check.detail}});
  }
  return list;
}

void print_checks(const Context& context, const std::vector<plugin::ConformanceCheck>& checks) {
  Table table({"VECTOR", "CHECK", "OUTCOME", "DETAIL"});
  for (const plugin::ConformanceCheck& check : checks) {
    table.row({check.vector, check.check, check.passed ? "pass" : "fail", check.detail});
  }
  print_table(context, table);
}

Result<Exit> check(const Context& context, const CheckOptions& options) {
  if (options.deadline_ms < 10 || options.deadline_ms > 30'000) {
    return fail(ErrorCode::kUsage, "--deadline-ms is 10 to 30000");
  }
  ASSAY_ASSIGN(plugin::PluginFile file, plugin::read_plugin(options.file));
  ASSAY_ASSIGN(const Bytes document, client::read_file(options.vectors));
  ASSAY_ASSIGN(const plugin::Vectors vectors, plugin::parse_vectors(document));
  plugin::HostOptions host;
  host.program = options.host.empty() ? plugin::default_host_program() : options.host;
  host.deadline = std::chrono::milliseconds(options.deadline_ms);
  const Digest digest = file.sha256;
  const auto verifier = plugin::make_plugin_verifier({vectors.type, vectors.media_type}, digest,
                                                     plugin::Host::make(std::move(file), host));
  const auto checks = plugin::check_conformance(*verifier, vectors);
  const auto failed = std::ranges::count_if(checks, [](const auto& one) { return !one.passed; });
  const std::string anchor = Anchor::plugin(digest).text();
  if (context.json()) {
    print_json({{"plugin", anchor},
                {"sha256", digest.text()},
                {"type", vectors.type},
                {"media_type", vectors.media_type},
                {"passed", checks.size() - static_cast<std::size_t>(failed)},
                {"failed", failed},
                {"checks", checks_json(checks)}});
  } else {
    print_checks(context, checks);
    print_line(std::to_string(failed) + " of " + std::to_string(checks.size()) +
               " checks failed; policies name this plug-in " + anchor);
  }
  return failed == 0 ? Exit::kYes : Exit::kNo;
}

}  // namespace

void add_evidence_plugin(const Command& group, Context& context) {
  const Command plugins = group.add("plugin", "Plug-ins that verify evidence");
  auto options = std::make_shared<CheckOptions>();
  const Command verb = plugins.add("check", "Check that a plug-in does what it must");
  verb.argument("FILE", options->file, "the plug-in, a shared library");
  verb.argument("VECTORS", options->vectors, "evidence with expected verdicts (JSON)");
  verb.option("--host", options->host, "PROGRAM",
              "the program assay-verifier-host (default: the one beside assay)");
  verb.option("--deadline-ms", options->deadline_ms, "N",
              "how long one call may take (default 2000)");
  verb.note(
      "Each vector must have its verdict, twice. Evidence that is to be accepted is also tried "
      "empty,\ncut short, with a byte more, with flipped bits and with other report data: each "
      "must "
      "be\nrejected, and none may end the plug-in. Exits with 1 when a check fails.\n"
      "docs/verifier-plugins.md teaches how to write a plug-in.");
  verb.example("assay evidence plugin check example_hmac.so vectors.json",
               "check a plug-in, and see the anchor by which policies name it");
  verb.action([&context, options] { return check(context, *options); });
}

}  // namespace assay::cli
