// SPDX-License-Identifier: Apache-2.0
// Man pages, in the macros of man(7).
#include <algorithm>

#include "cli/verb_help.h"

namespace assay::cli {
namespace {

std::string roff(std::string_view text) {
  std::string out;
  bool begins = true;
  for (const char c : text) {
    if (begins && (c == '.' || c == '\'')) {
      out += "\\&";
    }
    begins = c == '\n';
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else {
      out += c;
    }
  }
  return out;
}

std::string upper(std::string text) {
  std::ranges::transform(text, text.begin(), [](char c) {
    return static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
  });
  return text;
}

std::string page_of(const VerbHelp& verb) {
  std::string name = verb.path;
  std::ranges::replace(name, ' ', '-');
  return name;
}

void add_options(std::string& out, const std::vector<OptionHelp>& options, const char* heading) {
  if (options.empty()) {
    return;
  }
  out += std::string(".SH ") + heading + "\n";
  for (const OptionHelp& option : options) {
    std::string flags = option.flags;
    std::ranges::replace(flags, ',', ' ');
    out += ".TP\n\\fB" + roff(flags) + "\\fR";
    out += option.value.empty() ? "\n" : " \\fI" + roff(option.value) + "\\fR\n";
    out += roff(option.about) + "\n";
  }
}

void add_verbs(std::string& out, const VerbHelp& verb) {
  std::string task = "-";
  for (const VerbHelp* one : verb.verbs) {
    if (one->hidden) {
      continue;
    }
    if (one->task != task) {
      task = one->task;
      out += ".SH " + (task.empty() ? std::string("VERBS") : roff(upper(task))) + "\n";
    }
    out += ".TP\n\\fB" + roff(page_of(*one)) + "\\fR(1)\n" + roff(one->about) + "\n";
  }
}

}  // namespace

std::string man_file(const VerbHelp& verb) { return page_of(verb) + ".1"; }

std::string man_page(const VerbHelp& verb, std::string_view version) {
  std::string out = ".TH \"" + roff(upper(page_of(verb))) + "\" 1 \"\" \"assay " + roff(version) +
                    "\" \"Assay\"\n";
  out += ".SH NAME\n" + roff(page_of(verb)) + " \\- " + roff(verb.about) + "\n";
  out += ".SH SYNOPSIS\n\\fB" + roff(verb.path) + "\\fR " + roff(synopsis(verb)) + "\n";
  if (!verb.notes.empty()) {
    out += ".SH DESCRIPTION\n";
    for (const std::string& note : verb.notes) {
      std::string text = note;
      for (std::size_t at = 0; (at = text.find("\n\n", at)) != std::string::npos; at += 5) {
        text.replace(at, 2, "\n.PP\n");
      }
      // Macros stand on lines of their own; all else is escaped.
      std::string_view rest = text;
      while (!rest.empty()) {
        const std::string_view line = rest.substr(0, rest.find('\n'));
        rest.remove_prefix(std::min(line.size() + 1, rest.size()));
        out += (line == ".PP" ? std::string(line) : roff(line)) + "\n";
      }
      out += ".PP\n";
    }
  }
  add_verbs(out, verb);
  add_options(out, verb.arguments, "ARGUMENTS");
  add_options(out, verb.options, "OPTIONS");
  if (!verb.examples.empty()) {
    out += ".SH EXAMPLES\n";
    for (const ExampleHelp& example : verb.examples) {
      out +=
          ".PP\n" + roff(example.what) + ":\n.PP\n.nf\n.RS\n" + roff(example.line) + "\n.RE\n.fi\n";
    }
  }
  out +=
      ".SH EXIT STATUS\n0 yes, 1 no (verification failed, denied), 2 no answer (usage, files, "
      "the service).\n";
  return out;
}

}  // namespace assay::cli
