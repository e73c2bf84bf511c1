// SPDX-License-Identifier: Apache-2.0
#include "cli/command.h"

#include <cstdio>
#include <deque>
#include <exception>
#include <span>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <CLI/Validators.hpp>

#include "cli/output.h"

namespace assay::cli {

struct Command::Node {
  explicit Node(CLI::App* its_app) : app(its_app) {}

  CLI::App* app;
  CLI::Option* last = nullptr;
  std::vector<std::string> notes;
  std::vector<std::string> examples;
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

// CLI11 knows TEXT; people know FILE, URL and so on.
CLI::Option* describe(CLI::Option* option, const std::string& value) {
  return option->type_name(value);
}

std::string footer_of(const std::vector<std::string>& notes,
                      const std::vector<std::string>& examples) {
  std::string text;
  for (const std::string& note : notes) {
    text += note + "\n\n";
  }
  if (!examples.empty()) {
    text += "Examples:\n";
    for (const std::string& example : examples) {
      text += example;
    }
  }
  return text;
}

}  // namespace

Command Command::add(const std::string& name, const std::string& about) const {
  CLI::App* app = node_->app->add_subcommand(name, about);
  app->fallthrough(false);
  node_->app->require_subcommand(1);
  Node* node = &state_->nodes.emplace_back(app);
  app->footer([node] { return footer_of(node->notes, node->examples); });
  return {state_, node};
}

void Command::argument(const std::string& name, std::string& into, const std::string& about) const {
  node_->last = node_->app->add_option(name, into, about)->required()->type_name("");
}

void Command::argument(const std::string& name, std::uint64_t& into,
                       const std::string& about) const {
  node_->last = node_->app->add_option(name, into, about)->required()->type_name("");
}

void Command::optional_argument(const std::string& name, std::string& into,
                                const std::string& about) const {
  node_->last = node_->app->add_option(name, into, about)->type_name("");
}

void Command::arguments(const std::string& name, std::vector<std::string>& into,
                        const std::string& about) const {
  node_->last = node_->app->add_option(name, into, about)->required()->type_name("");
}

void Command::option(const std::string& flags, std::string& into, const std::string& value,
                     const std::string& about) const {
  node_->last = describe(node_->app->add_option(flags, into, about), value);
}

void Command::option(const std::string& flags, std::vector<std::string>& into,
                     const std::string& value, const std::string& about) const {
  node_->last = describe(node_->app->add_option(flags, into, about), value);
  node_->last->allow_extra_args(false);
}

void Command::option(const std::string& flags, std::uint64_t& into, const std::string& value,
                     const std::string& about) const {
  node_->last = describe(node_->app->add_option(flags, into, about), value);
}

void Command::option(const std::string& flags, std::optional<std::uint64_t>& into,
                     const std::string& value, const std::string& about) const {
  node_->last = node_->app->add_option_function<std::uint64_t>(
      flags, [&into](const std::uint64_t& number) { into = number; }, about);
  describe(node_->last, value);
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
        return "'" + given + "' is not one of " + list;
      },
      "", "one of");
  node_->last = describe(node_->app->add_option(flags, into, about), list)->check(one_of);
}

void Command::flag(const std::string& flags, bool& into, const std::string& about) const {
  node_->last = node_->app->add_flag(flags, into, about);
}

void Command::required() const { node_->last->required(); }

void Command::note(const std::string& text) const { node_->notes.push_back(text); }

void Command::example(const std::string& line, const std::string& what) const {
  node_->examples.push_back("  # " + what + "\n  " + line + "\n");
}

void Command::hide() const { node_->app->group(""); }

void Command::action(std::function<Result<Exit>()> run,
                     const std::vector<std::string>& outputs) const {
  choice("--output,-o", state_->context.output, outputs, "how to print the result");
  flag("--quiet,-q", state_->context.quiet, "no progress and no messages, only results and errors");
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
  state_->app.footer([node] { return footer_of(node->notes, node->examples); });
  state_->app.set_version_flag("--version", name + " " + context.version);
  CLI::App* help = state_->app.add_subcommand("help", "Explain a verb");
  help->add_option("verb", state_->help_for, "verb to explain")->type_name("");
  help->footer("Examples:\n  # the same as assay manifest verify --help\n  " + name +
               " help manifest verify\n");
}

Command CommandLine::root() const { return {state_, &state_->nodes.front()}; }

namespace {

CLI::App* find_verb(CLI::App* app, const std::vector<std::string>& path) {
  for (const std::string& name : path) {
    const auto below =
        app->get_subcommands([&name](CLI::App* verb) { return verb->check_name(name); });
    if (below.empty()) {
      return nullptr;
    }
    app = below.front();
  }
  return app;
}

// "assay manifest verify": the verb that the arguments got to.
std::string path_of(const CLI::App* app) {
  std::string path = app->get_name();
  while (app->get_subcommands().size() == 1) {
    app = app->get_subcommands().front();
    path += " " + app->get_name();
  }
  return path;
}

// The word in the place of a verb that is none: `assay polcy`. Empty: it is not that.
std::string no_verb(const CLI::App* app) {
  while (app->get_subcommands().size() == 1) {
    app = app->get_subcommands().front();
  }
  const std::vector<std::string> left = app->remaining();
  const bool takes_verbs = !app->get_subcommands([](const CLI::App*) { return true; }).empty();
  return takes_verbs && !left.empty() && !left.front().starts_with('-') ? left.front() : "";
}

std::string help_of(CLI::App* app) {
  std::string prefix;
  for (const CLI::App* up = app->get_parent(); up != nullptr; up = up->get_parent()) {
    prefix.insert(0, up->get_name() + (prefix.empty() ? "" : " "));
  }
  std::string text = app->help(prefix);
  text.erase(text.find_last_not_of('\n') + 1);
  return text + "\n";
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
    CLI::App* app = &state_->app;
    while (app->get_subcommands().size() == 1) {
      app = app->get_subcommands().front();
    }
    print_text(help_of(app));
    return static_cast<int>(Exit::kYes);
  } catch (const CLI::CallForVersion& call) {
    print_text(std::string(call.what()) + "\n");
    return static_cast<int>(Exit::kYes);
  } catch (const CLI::ParseError& error) {
    const std::string word = no_verb(&state_->app);
    report_error(context_, Error{ErrorCode::kUsage,
                                 (word.empty() ? error.what() : "There is no verb '" + word + "'") +
                                     ". See '" + path_of(&state_->app) + " --help'",
                                 ""});
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
    if (const int status = parse(argc, argv); status >= 0) {
      return finish_output(status);
    }
    if (state_->app.got_subcommand("help")) {
      CLI::App* app = find_verb(&state_->app, state_->help_for);
      if (app == nullptr) {
        report_error(context_,
                     Error{ErrorCode::kUsage, "There is no such verb. See 'assay help'", ""});
        return static_cast<int>(Exit::kTrouble);
      }
      print_text(help_of(app));
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
