// SPDX-License-Identifier: Apache-2.0
// assay: the command line. Registers the verbs; each file beside this one is a group of them.
#include <csignal>

#include "cli/command.h"
#include "cli/verbs/verbs.h"
#include "schemas/core/clock.h"
#include "schemas/core/random.h"

// long-function: a line for each group of verbs.
int main(int argc, char** argv) {
  namespace cli = assay::cli;
  // A reader that has seen enough (assay ... | head) makes writing fail, not the process end.
  static_cast<void>(std::signal(SIGPIPE, SIG_IGN));
  assay::SystemClock clock;
  assay::SystemRandom random;
  cli::Context context{.clock = clock, .random = random, .version = ASSAY_VERSION};
  cli::CommandLine line(context, "assay",
                        "May this model run here? Hash, sign, verify, ask, audit.");
  const cli::Command root = line.root();
  root.task("Begin");
  cli::add_status(root, context);
  cli::add_explain(root, context);
  cli::add_setup(root, context);
  cli::add_pages(root, context);
  root.task("Make and sign");
  cli::add_hash(root, context);
  cli::add_manifest(root, context);
  cli::add_attest(root, context);
  cli::add_sign(root, context);
  cli::add_review(root, context);
  cli::add_key(root, context);
  root.task("Publish and find");
  cli::add_push(root, context);
  cli::add_search(root, context);
  cli::add_release(root, context);
  cli::add_withdraw(root, context);
  cli::add_lineage(root, context);
  cli::add_bom(root, context);
  cli::add_fetch(root, context);
  root.task("Verify offline");
  cli::add_verify_model(root, context);
  cli::add_verify_bundle(root, context);
  cli::add_evidence(root, context);
  cli::add_scitt(root, context);
  root.task("Decide what may run");
  cli::add_policy(root, context);
  cli::add_impact(root, context);
  cli::add_decide(root, context);
  cli::add_decision(root, context);
  cli::add_admission(root, context);
  root.task("Run nodes and pods");
  cli::add_node(root, context);
  cli::add_job(root, context);
  cli::add_worker(root, context);
  cli::add_layout(root, context);
  cli::add_fill(root, context);
  cli::add_collateral(root, context);
  cli::add_endorsements(root, context);
  cli::add_refvalues(root, context);
  cli::add_device(root, context);
  root.task("Govern and audit");
  cli::add_trust(root, context);
  cli::add_token(root, context);
  cli::add_audit(root, context);
  cli::add_log(root, context);
  root.note(
      "Results go to standard output, messages to standard error. Exit status: 0 yes, 1 no\n"
      "(verification failed, denied), 2 no answer (usage, files, the service).");
  root.example("assay hash ./llama", "compute the id of a model");
  root.example("assay help manifest verify", "explain a verb");
  return line.run(argc, argv);
}
