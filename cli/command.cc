// SPDX-License-Identifier: Apache-2.0
#include "cli/command.h"

#include <algorithm>
#include <deque>
#include <exception>
#include <span>
#include <unistd.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <CLI/Validators.hpp>

#include "cli/layout.h"
#include "cli/output.h"
#include "schemas/core/nearest.h"

namespace assay::cli {

struct Command::Node {
  explicit Node(CLI::App* its_app) : app(its_app) {}

  CLI::App* app;
  CLI::Option* last = nullptr;
  OptionHelp* last_help = nullptr;
  VerbHelp help{};
  std::string task{};  // of the verbs that are added next

  CLI::Option* declare(CLI::Option* option, OptionHelp about, bool is_argument) {
    auto& list = is_argument ? help.arguments : help.options;
    list.push_back(std::move(about));
    last_help = &list.back();
    last = option;
    return option;
  }
  CLI::Option* argument(CLI::Option* option, OptionHelp about) {
    option->required(about.required)->type_name("");
    return declare(option, std::move(about), true);
  }
};

struct Command::State {
  Context& context;
  CLI::App app;
  std::deque<Node> nodes;  // a deque: handles point into it
  std::function<Result<Exit>()> selected;
  std::vector<std::string> help_for;

  State(Context& its_context, const std::string& about, const std::string& name)
      : context(its_context), app(about, name) {}
};

namespace {

constexpr std::string_view kCompleteVerb = "__complete";  // what the scripts of shells call

OptionHelp help_option() { return {.flags = "--help,-h", .value = {}, .about = "print this text"}; }

}  // namespace

Command Command::add(const std::string& name, const std::string& about) const {
  CLI::App* app = node_->app->add_subcommand(name, about);
  app->fallthrough(false);
  node_->app->require_subcommand(1);
  Node* node = &state_->nodes.emplace_back(app);
  node->help = {.path = node_->help.path + " " + name, .about = about, .task = node_->task};
  node->help.options.push_back(help_option());
  node_->help.verbs.push_back(&node->help);
  return {state_, node};
}

void Command::argument(const std::string& name, std::string& into, const std::string& about) const {
  node_->argument(node_->app->add_option(name, into, about),
                  {.flags = name, .value = {}, .about = about, .required = true});
}

void Command::argument(const std::string& name, std::uint64_t& into,
                       const std::string& about) const {
  node_->argument(node_->app->add_option(name, into, about),
                  {.flags = name, .value = {}, .about = about, .required = true});
}

void Command::optional_argument(const std::string& name, std::string& into,
                                const std::string& about) const {
  node_->argument(node_->app->add_option(name, into, about),
                  {.flags = name, .value = {}, .about = about});
}

void Command::arguments(const std::string& name, std::vector<std::string>& into,
                        const std::string& about) const {
  node_->argument(node_->app->add_option(name, into, about),
                  {.flags = name, .value = {}, .about = about, .required = true, .many = true});
}

void Command::optional_arguments(const std::string& name, std::vector<std::string>& into,
                                 const std::string& about) const {
  node_->argument(node_->app->add_option(name, into, about),
                  {.flags = name, .value = {}, .about = about, .many = true});
}

void Command::option(const std::string& flags, std::string& into, const std::string& value,
                     const std::string& about) const {
  node_->declare(node_->app->add_option(flags, into, about),
                 {.flags = flags, .value = value, .about = about}, false);
}

void Command::option(const std::string& flags, std::vector<std::string>& into,
                     const std::string& value, const std::string& about) const {
  node_
      ->declare(node_->app->add_option(flags, into, about),
                {.flags = flags, .value = value, .about = about, .many = true}, false)
      ->allow_extra_args(false);
}

void Command::option(const std::string& flags, std::uint64_t& into, const std::string& value,
                     const std::string& about) const {
  node_->declare(node_->app->add_option(flags, into, about),
                 {.flags = flags, .value = value, .about = about}, false);
}

void Command::option(const std::string& flags, std::optional<std::uint64_t>& into,
                     const std::string& value, const std::string& about) const {
  node_->declare(node_->app->add_option_function<std::uint64_t>(
                     flags, [&into](const std::uint64_t& number) { into = number; }, about),
                 {.flags = flags, .value = value, .about = about}, false);
}

void Command::choice(const std::string& flags, std::string& into,
                     const std::vector<std::string>& values, const std::string& about) const {
  std::string list;
  for (const std::string& value : values) {
    list += (list.empty() ? "" : "|") + value;
  }
  CLI::Validator one_of(
      [values, list](std::string& given) {
        for (const std::string& value : values) {
          if (given == value) {
            return std::string();
          }
        }
        const std::vector<std::string_view> known(values.begin(), values.end());
        return "'" + given + "' is not one of " + list + did_you_mean(given, known);
      },
      "", "one of");
  node_
      ->declare(node_->app->add_option(flags, into, about),
                {.flags = flags, .value = list, .about = about, .choices = values}, false)
      ->check(one_of);
}

void Command::flag(const std::string& flags, bool& into, const std::string& about) const {
  node_->declare(node_->app->add_flag(flags, into, about),
                 {.flags = flags, .value = {}, .about = about}, false);
}

void Command::required() const {
  node_->last->required();
  node_->last_help->required = true;
}

void Command::note(const std::string& text) const { node_->help.notes.push_back(text); }

void Command::example(const std::string& line, const std::string& what) const {
  node_->help.examples.push_back({line, what});
}

void Command::task(const std::string& heading) const { node_->task = heading; }

const VerbHelp& Command::described() const { return node_->help; }

void Command::hide() const {
  node_->app->group("");
  node_->help.hidden = true;
}

void Command::action(std::function<Result<Exit>()> run,
                     const std::vector<std::string>& outputs) const {
  choice("--output,-o", state_->context.output, outputs, "how to print the result");
  flag("--quiet,-q", state_->context.quiet, "no progress and no messages, only results and errors");
  if (std::ranges::find(outputs, "text") != outputs.end()) {
    flag("--wide", state_->context.wide,
         "whole tables and verdicts, however narrow the terminal is");
  }
  node_->help.runs = true;
  State* state = state_.get();
  CLI::App* app = node_->app;
  if (!app->get_subcommands([](const CLI::App*) { return true; }).empty()) {
    app->require_subcommand(0, 1);  // a verb that has verbs below it, such as "bom"
  }
  app->callback([state, app, run = std::move(run)] {
    if (app->get_subcommands().empty()) {
      state->selected = run;
    }
  });
}

CommandLine::CommandLine(Context& context, const std::string& name, const std::string& about)
    : context_(context), state_(std::make_shared<Command::State>(context, about, name)) {
  Command::Node* node = &state_->nodes.emplace_back(&state_->app);
  node->help = {.path = name, .about = about};
  node->help.options = {help_option(),
                        {.flags = "--version", .value = {}, .about = "print the version"}};
  state_->app.set_version_flag("--version", name + " " + context.version);
  root().task("Begin");
  const Command help = root().add("help", "Explain a verb, or list all verbs by task");
  help.optional_arguments("VERB", state_->help_for, "words of the verb to explain");
  help.example(name + " help manifest verify", "the same as assay manifest verify --help");
}

Command CommandLine::root() const { return {state_, &state_->nodes.front()}; }

namespace {

constexpr std::size_t kWidestText = 100;  // columns that people like to read

void print_help(const VerbHelp& verb) {
  const std::size_t columns = terminal_columns(STDOUT_FILENO);
  print_text(help_text(verb, columns == 0 ? kPlainColumns : std::min(columns, kWidestText)));
}

// The verb that the words lead to; null when there is none.
const VerbHelp* find_verb(const VerbHelp* verb, const std::vector<std::string>& words) {
  for (const std::string& word : words) {
    verb = verb == nullptr ? nullptr : verb->below(word);
  }
  return verb;
}

// The verb that the arguments got to.
const VerbHelp& reached(const VerbHelp& root, const CLI::App* app) {
  const VerbHelp* verb = &root;
  while (app->get_subcommands().size() == 1) {
    app = app->get_subcommands().front();
    const VerbHelp* next = verb->below(app->get_name());
    verb = next == nullptr ? verb : next;
  }
  return *verb;
}

const CLI::App* leaf_of(const CLI::App* app) {
  while (app->get_subcommands().size() == 1) {
    app = app->get_subcommands().front();
  }
  return app;
}

// The commands below `verb` that end with `word`: "assay policy test" for "test".
void find_elsewhere(const VerbHelp& verb, std::string_view word, std::vector<std::string>& found) {
  for (const VerbHelp* one : verb.verbs) {
    if (one->name() == word && !one->hidden) {
      found.push_back(one->path);
    }
    find_elsewhere(*one, word, found);
  }
}

std::string no_such_verb(const VerbHelp& root, const VerbHelp& at, const std::string& word) {
  std::vector<std::string_view> known;
  for (const VerbHelp* one : at.verbs) {
    if (!one->hidden) {
      known.push_back(one->name());
    }
  }
  std::string meant = did_you_mean(word, known);
  std::vector<std::string> elsewhere;
  find_elsewhere(root, word, elsewhere);
  for (std::size_t i = 0; meant.empty() && i < elsewhere.size(); ++i) {
    meant += (i == 0 ? "; did you mean '" : "' or '") + elsewhere[i];
    meant += i + 1 == elsewhere.size() ? "'?" : "";
  }
  return "There is no verb '" + word + "'" + meant;
}

std::string no_such_option(const CLI::App* app, const std::string& word) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app->get_options()) {
    for (const std::string& name : option->get_lnames()) {
      names.push_back("--" + name);
    }
  }
  const std::vector<std::string_view> known(names.begin(), names.end());
  return "There is no option '" + word + "'" + did_you_mean(word, known);
}

// Returns the fault of the arguments. A mistyped option or verb is named before what is missing
// because of it.
std::string explain(const VerbHelp& root, const CLI::App* app, const CLI::ParseError& error) {
  const VerbHelp& verb = reached(root, app);
  app = leaf_of(app);
  const std::vector<std::string> left = app->remaining();
  for (const std::string& word : left) {
    if (word.starts_with("--") && word.size() > 2) {
      return no_such_option(app, word.substr(0, word.find('=')));
    }
  }
  if (!left.empty() && !left.front().starts_with('-') && !verb.verbs.empty()) {
    return no_such_verb(root, verb, left.front());
  }
  return error.what();
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) {
    text += (text.empty() ? "" : " ") + word;
  }
  return text;
}

bool wants_json(std::span<const char* const> arguments) {
  for (std::size_t i = 1; i < arguments.size(); ++i) {
    const std::string_view argument = arguments[i];
    const bool value_follows = argument == "-o" || argument == "--output";
    if (argument == "-ojson" || argument == "--output=json" ||
        (value_follows && i + 1 < arguments.size() &&
         std::string_view(arguments[i + 1]) == "json")) {
      return true;
    }
  }
  return false;
}

}  // namespace

int CommandLine::parse(int argc, const char* const* argv) {
  try {
    state_->app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    print_help(reached(root().described(), &state_->app));
    return static_cast<int>(Exit::kYes);
  } catch (const CLI::CallForVersion& call) {
    print_text(std::string(call.what()) + "\n");
    return static_cast<int>(Exit::kYes);
  } catch (const CLI::ParseError& error) {
    const VerbHelp& all = root().described();
    std::string what = explain(all, &state_->app, error);
    what += what.ends_with('?') ? " See '" : ". See '";
    report_error(context_,
                 Error{ErrorCode::kUsage, what + reached(all, &state_->app).path + " --help'", ""});
    return static_cast<int>(Exit::kTrouble);
  }
  return -1;
}

int CommandLine::run(int argc, const char* const* argv) {
  // An error may come up before the option is parsed; it is told in the format asked for.
  if (wants_json({argv, static_cast<std::size_t>(argc)})) {
    context_.output = "json";
  }
  try {
    if (argc > 1 && std::string_view(argv[1]) == kCompleteVerb) {
      const std::vector<std::string_view> words(argv + 2, argv + argc);
      for (const std::string& line : completions(root().described(), words)) {
        print_text(line + "\n");
      }
      return finish_output(static_cast<int>(Exit::kYes));
    }
    if (const int status = parse(argc, argv); status >= 0) {
      return finish_output(status);
    }
    if (state_->app.got_subcommand("help")) {
      const VerbHelp& all = root().described();
      const VerbHelp* verb = find_verb(&all, state_->help_for);
      if (verb == nullptr) {
        report_error(
            context_,
            Error{ErrorCode::kUsage,
                  no_such_verb(all, all, joined(state_->help_for)) + " See 'assay help'", ""});
        return static_cast<int>(Exit::kTrouble);
      }
      print_help(*verb);
      return finish_output(static_cast<int>(Exit::kYes));
    }
    const Result<Exit> result = state_->selected();
    if (!result) {
      report_error(context_, result.error());
      return static_cast<int>(Exit::kTrouble);
    }
    return finish_output(static_cast<int>(*result));
  } catch (const std::exception& error) {
    report_error(context_, Error{ErrorCode::kInternal, error.what(), ""});
  } catch (...) {
    report_error(context_, Error{ErrorCode::kInternal, "Unknown exception", ""});
  }
  return static_cast<int>(Exit::kTrouble);
}

}  // namespace assay::cli
