// SPDX-License-Identifier: Apache-2.0
// assay review: what a document says, before anybody signs it.
#include <memory>

#include "cli/output.h"
#include "cli/review/show.h"
#include "cli/verbs/verbs.h"

namespace assay::cli {

namespace {

struct Options {
  std::string file;
  std::string type;
  ReviewFlags flags;
};

Result<Exit> show(const Context& context, const Options& options) {
  ASSAY_ASSIGN(const LoadedDocument document, load_document(options.file, options.type));
  ASSAY_ASSIGN(const InForce in_force,
               find_in_force(context, document.payload, options.flags, true));
  ASSAY_ASSIGN(const Review made, review(document.payload, in_force, options.flags.all));
  if (context.json()) {
    print_json(review_json(document, made));
    return Exit::kYes;
  }
  for (const std::string& line : review_lines(document, made, options.flags.all)) {
    print_line(line);
  }
  return Exit::kYes;
}

}  // namespace

void add_review(const Command& root, Context& context) {
  auto options = std::make_shared<Options>();
  const Command verb =
      root.add("review", "Say in words what a document says, and what it would change");
  verb.argument("FILE", options->file,
                "policy, approval, change of trust, manifest or statement, signed or not; '-' is "
                "standard input");
  verb.option("--type", options->type, "TYPE",
              "DSSE payload type, for documents that assay does not know");
  add_review_options(verb, options->flags);
  verb.note(
      "For authors, approvers and operators before they sign, and for the second one before they\n"
      "add a signature. With a service (--server, the environment or a profile) the document is\n"
      "compared with what is in force there: the policy of that name, the keys and callers that\n"
      "are trusted, the newest manifest of that name. Lines that begin with '!' may let in more\n"
      "than before. Values are shown as JSON in ASCII, so that no letter passes for another.\n"
      "No signature is verified.");
  verb.example("assay review policy-v2.signed.json --server https://assay.example.com",
               "see what would change if a policy came into force");
  verb.example("assay review change.json --against trust.json",
               "compare offline with what 'assay trust show -o json' printed");
  verb.action([options, &context] { return show(context, *options); });
}

}  // namespace assay::cli
