// SPDX-License-Identifier: Apache-2.0
// assayd: command line, process settings, signals. Everything else is in app.h and init.h.

#include <chrono>
#include <csignal>
#include <iostream>
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <CLI/CLI.hpp>
#include <malloc.h>

#include "schemas/core/printable.h"
#include "schemas/posix/descriptor_limit.h"
#include "server/app.h"
#include "server/check.h"
#include "server/config_paths.h"
#include "server/init.h"
#include "server/listeners.h"
#include "server/rotate.h"

namespace assay::server {
namespace {

constexpr int kFindings = 1;
constexpr int kUsageOrOperation = 2;
constexpr std::size_t kMaxBootstrapBytes = 16U << 20;

int complain(const Error& error) {
  // As in the log: what it quotes may be any bytes.
  std::cerr << "assayd: " << printable(to_string(error)) << '\n';
  return kUsageOrOperation;
}

// Key material lives in this process: it leaves no core dump, other processes of the same user do
// not look into it, and what it writes is its own.
void harden() {
  ::umask(077);
  const rlimit none{0, 0};
  ::setrlimit(RLIMIT_CORE, &none);
  ::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
  std::signal(SIGPIPE, SIG_IGN);
  // A file at its size limit is an error of that write, not the end of the process.
  std::signal(SIGXFSZ, SIG_IGN);
}

// Bodies and answers of many megabytes go back to the system as soon as they are freed. Otherwise
// glibc takes such blocks from its heap once a few were freed (mallopt(3)), and the holes between
// them add half to what the budget of memory allows.
void return_large_blocks() {
  constexpr int kLargeBlock = 4 << 20;
  constexpr int kKeptAtTheTop = 16 << 20;  // of a heap, for what comes next
  ::mallopt(M_MMAP_THRESHOLD, kLargeBlock);
  ::mallopt(M_TRIM_THRESHOLD, kKeptAtTheTop);
}

sigset_t handled_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGHUP);
  return signals;
}

// Returns when the program shall stop.
void wait_for_stop(App& app, const sigset_t& signals) {
  constexpr timespec kHour{3600, 0};
  for (;;) {
    const int received = ::sigtimedwait(&signals, nullptr, &kHour);
    if (received == SIGTERM || received == SIGINT) {
      return;
    }
    if (received == SIGHUP) {
      app.reload();
    } else {
      app.watch_certificate();
    }
  }
}

int run(const std::string& config_path) {
  const Result<Config> config = load_config(config_path);
  if (!config) {
    return complain(config.error());
  }
  // Blocked before any thread starts, so that every thread inherits it and sigwait sees them.
  const sigset_t signals = handled_signals();
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  raise_descriptor_limit();  // connections are descriptors
  const SystemClock clock;
  SystemRandom random;
  const auto log = Log::open(config->log_level, config->log_file, clock);
  if (!log) {
    return complain(log.error());
  }
  const auto app = App::start(*config, clock, random, **log);
  if (!app) {
    (*log)->error("start_failed", error_fields(app.error()));
    static_cast<void>((*log)->flush(kLogFlushTime));  // not in the middle of the next line
    return complain(app.error());
  }
  wait_for_stop(**app, signals);
  // A second signal ends the process at once.
  pthread_sigmask(SIG_UNBLOCK, &signals, nullptr);
  (*app)->stop();
  return 0;
}

int init(const std::string& config_path, const std::string& bootstrap_path) {
  const Result<Config> config = load_config(config_path);
  if (!config) {
    return complain(config.error());
  }
  const Result<Bytes> document = read_file(bootstrap_path, kMaxBootstrapBytes);
  if (!document) {
    return complain(document.error());
  }
  const SystemClock clock;
  SystemRandom random;
  const Result<InitReport> report = initialise(*config, *document, clock, random);
  if (!report) {
    return complain(report.error());
  }
  for (const std::string& path : report->created) {
    std::cerr << "assayd: made " << path << '\n';
  }
  std::cout << to_json(*report).dump(2) << '\n';
  return 0;
}

int rotate(const std::string& config_path, const std::string& kind,
           const std::string& new_key_file) {
  const Result<Config> config = load_config(config_path);
  if (!config) {
    return complain(config.error());
  }
  const auto rotated = attestation::rotated_kind_from(kind);
  if (!rotated) {
    return complain(rotated.error());
  }
  const SystemClock clock;
  const Result<RotateReport> report = rotate_key(*config, *rotated, new_key_file, clock);
  if (!report) {
    return complain(report.error());
  }
  if (report->made) {
    std::cerr << "assayd: made " << new_key_file << '\n';
  }
  std::cerr << "assayd: name the new file in the configuration before the service starts\n";
  std::cout << to_json(*report).dump(2) << '\n';
  return 0;
}

// Says on standard error how far it is, every two seconds.
storage::Progress progress() {
  return
      [last = std::chrono::steady_clock::now()](std::string_view what, std::uint64_t done) mutable {
        const auto now = std::chrono::steady_clock::now();
        if (now - last >= std::chrono::seconds(2)) {
          last = now;
          std::cerr << "assayd: " << done << ' ' << what << '\n';
        }
      };
}

// 0: nothing to do; 1: there are findings.
int check(const std::string& config_path, bool deep, bool json) {
  const Result<Config> config = load_config(config_path);
  if (!config) {
    return complain(config.error());
  }
  const SystemClock clock;
  const Result<std::vector<Finding>> findings =
      check_installation(*config, clock, deep, progress());
  if (!findings) {
    return complain(findings.error());
  }
  Json list = Json::array();
  for (const Finding& finding : *findings) {
    list.push_back(to_json(finding));
    if (!json) {
      std::cout << finding.check << '\t' << finding.id << '\t' << finding.detail << '\n';
    }
  }
  if (json) {
    std::cout << Json{{"findings", std::move(list)}}.dump(2) << '\n';
  } else if (findings->empty()) {
    std::cout << "nothing is wrong with the store"
              << (deep ? "" : "; --deep looks at the whole log and every document") << '\n';
  }
  return findings->empty() ? 0 : kFindings;
}

int repair(const std::string& config_path) {
  const Result<Config> config = load_config(config_path);
  if (!config) {
    return complain(config.error());
  }
  const auto repaired = repair_installation(*config, progress());
  if (!repaired) {
    return complain(repaired.error());
  }
  std::cout << to_json(*repaired).dump(2) << '\n';
  return 0;
}

int backup(const std::string& config_path, const std::string& to) {
  const Result<Config> config = load_config(config_path);
  if (!config) {
    return complain(config.error());
  }
  const SystemClock clock;
  const auto made = back_up_installation(*config, clock, to, progress());
  if (!made) {
    return complain(made.error());
  }
  std::cout << to_json(*made).dump(2) << '\n';
  return 0;
}

// 0: nothing to restore, or restored; 1: there is a loss, and nobody accepted it.
int restore(const std::string& config_path, const std::string& from, bool accept_loss) {
  const Result<Config> config = load_config(config_path);
  if (!config) {
    return complain(config.error());
  }
  const SystemClock clock;
  if (!from.empty()) {
    if (const Status put = put_back_installation(*config, clock, from, progress()); !put) {
      return complain(put.error());
    }
  }
  const auto restoration = restore_installation(*config, clock, accept_loss);
  if (!restoration) {
    return complain(restoration.error());
  }
  std::cout << to_json(*restoration).dump(2) << '\n';
  return restoration->needed && !restoration->done ? kFindings : 0;
}

int check_config(const std::string& config_path, bool print) {
  const Result<Config> config = load_config(config_path);
  if (!config) {
    return complain(config.error());
  }
  const SystemClock clock;
  std::vector<Error> wrong = check_paths(*config);
  if (const Status tls = check_tls_files(*config, clock.now()); !tls) {
    wrong.push_back(tls.error());
  }
  for (const Error& error : wrong) {
    static_cast<void>(complain(error));
  }
  if (!wrong.empty()) {
    return kUsageOrOperation;
  }
  if (print) {
    std::cout << to_json(*config).dump(2) << '\n';
  } else {
    std::cerr << "assayd: the configuration is valid\n";
  }
  return 0;
}

CLI::App* add_rotate(CLI::App& program, std::string& kind, std::string& new_key_file) {
  CLI::App* const command = program.add_subcommand(
      "rotate", "Put a new key in place of one of the service's, while no service runs.");
  command->add_option("KIND", kind, "service, log or ear")
      ->required()
      ->check(CLI::IsMember({"service", "log", "ear"}));
  command->add_option("--new-key", new_key_file, "Private key; made when it is not there")
      ->required();
  return command;
}

// What leads out of a damaged store (docs/recovery.md).
struct Recovery {
  CLI::App* check = nullptr;
  CLI::App* backup = nullptr;
  CLI::App* repair = nullptr;
  CLI::App* restore = nullptr;
  bool deep = false;
  bool accept_loss = false;
  std::string output = "json";
  std::string to;    // of a backup
  std::string from;  // of a restore
};

void add_recovery(CLI::App& program, std::string& config_path, Recovery& recovery) {
  recovery.check = program.add_subcommand(
      "check", "List what is wrong with the store, beside a running service or without one.");
  recovery.backup = program.add_subcommand(
      "backup", "Copy the database to a new file and check the copy, beside a running service.");
  recovery.repair = program.add_subcommand(
      "repair", "Make indexes and rows of the store again from the log and its documents.");
  recovery.restore = program.add_subcommand(
      "restore", "Put a backup in place; tell what the database has lost, and go on without it.");
  for (CLI::App* const command :
       {recovery.check, recovery.backup, recovery.repair, recovery.restore}) {
    command->add_option("--config,-c,CONFIG", config_path, "Configuration file (JSON)")->required();
  }
  recovery.check->add_flag("--deep", recovery.deep,
                           "Also the whole log, every document and every index");
  recovery.check->add_option("-o,--output", recovery.output, "json or text")
      ->check(CLI::IsMember({"json", "text"}));
  recovery.backup->add_option("--to", recovery.to, "File to make; there must be none")->required();
  recovery.restore->add_option("--from", recovery.from,
                               "Backup to put in place of the database, which stays beside it");
  recovery.restore->add_flag("--accept-loss", recovery.accept_loss,
                             "Go on under the new log origin that the configuration names");
}

int run_recovery(const Recovery& recovery, const std::string& config_path) {
  if (*recovery.check) {
    return check(config_path, recovery.deep, recovery.output == "json");
  }
  if (*recovery.backup) {
    return backup(config_path, recovery.to);
  }
  return *recovery.repair ? repair(config_path)
                          : restore(config_path, recovery.from, recovery.accept_loss);
}

int main_of(int argc, char** argv) {
  CLI::App program(
      "assayd: the Assay service. It answers one question with proof: may this model "
      "run here?");
  program.set_version_flag("--version", std::string(version()));
  program.require_subcommand(1);
  program.footer(
      "Examples:\n"
      "  assayd check-config --config assayd.json --print-effective\n"
      "  assayd init --config assayd.json --bootstrap bootstrap.json\n"
      "  assayd run --config assayd.json\n"
      "  assayd check --deep assayd.json\n"
      "  assayd backup assayd.json --to /backup/assay-2026-11-29.db\n"
      "  assayd repair assayd.json\n"
      "  assayd restore assayd.json --from /backup/assay-2026-11-29.db\n"
      "  assayd rotate service --config assayd.json --new-key service-2.pem\n"
      "\n"
      "The configuration is described by schemas/json/config.schema.json. SIGTERM stops the\n"
      "service after the requests in flight; SIGHUP reads certificate and key again and opens the\n"
      "log file anew. Exit status: 0 done, 1 'check' found something, 2 usage or operational "
      "error.");
  std::string config_path;
  std::string bootstrap_path;
  std::string rotated_kind;
  std::string new_key_file;
  bool print = false;
  Recovery recovery{};
  CLI::App* const run_command = program.add_subcommand("run", "Serve until SIGTERM.");
  CLI::App* const init_command = program.add_subcommand(
      "init", "Make keys, certificate and database, and enter the first keys and principals.");
  add_recovery(program, config_path, recovery);
  CLI::App* const config_command = program.add_subcommand("check-config", "Check a configuration.");
  CLI::App* const rotate_command = add_rotate(program, rotated_kind, new_key_file);
  for (CLI::App* const command : {run_command, init_command, config_command, rotate_command}) {
    command->add_option("--config,-c", config_path, "Configuration file (JSON)")->required();
  }
  init_command->add_option("--bootstrap", bootstrap_path, "First keys and principals (JSON)")
      ->required();
  config_command->add_flag("--print-effective", print, "Print the configuration with its defaults");
  try {
    program.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return program.exit(error) == 0 ? 0 : kUsageOrOperation;
  }
  harden();
  return_large_blocks();
  if (*run_command) {
    return run(config_path);
  }
  if (*recovery.check || *recovery.backup || *recovery.repair || *recovery.restore) {
    return run_recovery(recovery, config_path);
  }
  if (*rotate_command) {
    return rotate(config_path, rotated_kind, new_key_file);
  }
  return *init_command ? init(config_path, bootstrap_path) : check_config(config_path, print);
}

}  // namespace
}  // namespace assay::server

int main(int argc, char** argv) {
  try {
    return assay::server::main_of(argc, argv);
  } catch (const std::exception& error) {
    std::cerr << "assayd: " << error.what() << '\n';
  } catch (...) {
    std::cerr << "assayd: unknown exception\n";
  }
  return assay::server::kUsageOrOperation;
}
