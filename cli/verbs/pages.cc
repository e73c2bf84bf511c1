// SPDX-License-Identifier: Apache-2.0
// assay completion and assay man: what shells and man(1) read, made of the descriptions of verbs.
#include <memory>

#include "cli/output.h"
#include "cli/verb_help.h"
#include "cli/verbs/verbs.h"
#include "client/files.h"

namespace assay::cli {

namespace {

struct ManOptions {
  std::vector<std::string> words;
  std::string out;
};

// Writes the pages of a verb and of all verbs below it.
Status write_pages(const VerbHelp& verb, const std::string& folder, const std::string& version) {
  if (verb.hidden) {
    return {};
  }
  ASSAY_TRY(client::write_file(folder + "/" + man_file(verb), man_page(verb, version)));
  for (const VerbHelp* one : verb.verbs) {
    ASSAY_TRY(write_pages(*one, folder, version));
  }
  return {};
}

Result<Exit> man(const Context& context, const VerbHelp& root, const ManOptions& options) {
  const VerbHelp* verb = &root;
  for (const std::string& word : options.words) {
    verb = verb->below(word);
    if (verb == nullptr) {
      return fail(ErrorCode::kUsage, "There is no such verb; see 'assay help'", word);
    }
  }
  if (options.out.empty()) {
    print_text(man_page(*verb, context.version));
    return Exit::kYes;
  }
  ASSAY_TRY(write_pages(*verb, options.out, context.version));
  return Exit::kYes;
}

}  // namespace

void add_pages(const Command& root, Context& context) {
  auto shell = std::make_shared<std::string>();
  const Command completion = root.add("completion", "Print what makes a shell complete commands");
  completion.argument("SHELL", *shell, "bash, zsh or fish");
  completion.example("source <(assay completion bash)", "complete commands in this shell");
  completion.example("assay completion fish >~/.config/fish/completions/assay.fish",
                     "complete commands in every shell");
  completion.action(
      [shell]() -> Result<Exit> {
        const std::string_view script = completion_script(*shell);
        if (script.empty()) {
          return fail(ErrorCode::kUsage, "Shells are bash, zsh and fish", *shell);
        }
        print_text(script);
        return Exit::kYes;
      },
      {"text"});

  auto options = std::make_shared<ManOptions>();
  const Command pages = root.add("man", "Print the man page of a verb, or write all of them");
  pages.option("--out", options->out, "DIR", "write the pages of the verb and of all below it");
  pages.optional_arguments("VERB", options->words, "words of the verb (default: assay itself)");
  pages.example("assay man manifest verify | man -l -", "read the page of a verb");
  pages.example("assay man --out /usr/local/share/man/man1", "write the pages of all verbs");
  pages.action(
      [options, all = &root.described(), &context] { return man(context, *all, *options); },
      {"text"});
}

}  // namespace assay::cli
