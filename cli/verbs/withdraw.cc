// SPDX-License-Identifier: Apache-2.0
// assay withdraw: says that a statement no longer counts.
#include <memory>

#include "cli/documents/keys.h"
#include "cli/documents/trust_documents.h"
#include "cli/times.h"
#include "cli/verbs/verbs.h"
#include "schemas/withdrawal.h"

namespace assay::cli {

namespace {

struct WithdrawOptions {
  std::string statement;
  std::string reason;
  std::string text;
  std::string since;
  std::string out;
  SigningFlags signing;
};

Result<Exit> withdraw(const Context& context, const WithdrawOptions& options) {
  ASSAY_ASSIGN(StatementId statement, StatementId::parse(options.statement));
  Withdrawal withdrawal{std::move(statement), options.reason, options.text, {}};
  if (!options.since.empty()) {
    ASSAY_ASSIGN(withdrawal.since, read_time(options.since, context.clock.now(), Span::kAgo));
  }
  const Json json = to_json(withdrawal);
  ASSAY_ASSIGN(std::string document, canonical_json(json));
  ASSAY_TRY(parse_withdrawal(as_bytes(document)));  // refused here rather than by the service
  return sign_and_write(context, kWithdrawalPayloadType, std::move(document), options.signing,
                        options.out, json);
}

}  // namespace

void add_withdraw(const Command& root, Context& context) {
  auto options = std::make_shared<WithdrawOptions>();
  const Command verb =
      root.add("withdraw", "Say that a manifest, statement, placement or release no longer counts");
  verb.argument("ID", options->statement, "id of what you signed; 'assay search' shows it");
  verb.choice("--reason", options->reason, {kWithdrawalReasons.begin(), kWithdrawalReasons.end()},
              "kind of reason");
  verb.required();
  verb.option("--text", options->text, "TEXT", "the reason in words");
  verb.required();
  verb.option("--since", options->since, "TIME",
              "since when it is known to be wrong: a time, a date or an age such as 2d (default: "
              "since the service records it)");
  verb.option("--out", options->out, "FILE", "where to write it (default: standard output)");
  add_signing_options(verb, options->signing, false);
  verb.note(
      "Only who signed the statement when it was stored can withdraw it, with a key that may sign\n"
      "such a statement now. Two operators can withdraw anything: 'assay trust change "
      "--withdraw'.\n"
      "It counts from the next decision on, and nothing undoes it.");
  verb.example(
      "assay withdraw sha256:0a1b... --reason data-withdrawn --text 'no licence any more' \\\n"
      "      --key trainer.pem --out withdrawal.json",
      "withdraw a statement; 'assay push withdrawal.json' tells the service");
  verb.action([options, &context] { return withdraw(context, *options); });
}

}  // namespace assay::cli
