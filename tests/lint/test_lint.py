# SPDX-License-Identifier: Apache-2.0
# long-file: all checks share the planted folder, and each has a case that it must find
"""Plants one error for each rule of the lint and expects the check to name it."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

import check_console  # noqa: E402
import check_coroutines  # noqa: E402
import check_files  # noqa: E402
import check_headers  # noqa: E402
import check_docs  # noqa: E402
import check_includes  # noqa: E402
import check_local_names  # noqa: E402
import check_reasons  # noqa: E402
import check_schemas  # noqa: E402
import check_seen_codes  # noqa: E402
import check_verifiers  # noqa: E402
import check_words  # noqa: E402
import cpp  # noqa: E402
import prose  # noqa: E402
import sources  # noqa: E402

HEAD = "// SPDX-License-Identifier: Apache-2.0\n// A file of a test.\n"
HEADER = HEAD + "\n#pragma once\n"


class Planted(unittest.TestCase):
    """A folder with planted files; `found` runs a check over it."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name).resolve()
        for name in (check_includes.TABLE, check_coroutines.FILES_LIST):
            (self.root / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(sources.ROOT / name, self.root / name)

    def plant(self, path, text):
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).write_bytes(text if isinstance(text, bytes) else text.encode())

    def found(self, check):
        sources.read.cache_clear()
        return "\n".join(str(f) for f in sorted(check(self.root)))

    def assert_finds(self, check, *parts):
        found = self.found(check)
        for part in parts:
            self.assertIn(part, found)

    def assert_clean(self, check):
        self.assertEqual(self.found(check), "")


class Includes(Planted):
    def source(self, path, *includes):
        self.plant(path, HEAD + "".join(f"#include {i}\n" for i in includes))

    def test_allowed_edges_are_clean(self):
        self.source("schemas/core/error.h", "<string>", "<openssl/evp.h>", "<nlohmann/json.hpp>")
        self.source("storage/sqlite/db.cc", '"schemas/core/error.h"', "<sqlite3.h>", "<sys/stat.h>")
        self.source("server/app.cc", '"storage/store.h"', "<boost/asio.hpp>", '"embedded/api.h"')
        self.source("storage/store.h", "<cstdint>", "<stdint.h>", "<immintrin.h>")
        self.source("tests/server/app_test.cc", "<gtest/gtest.h>", '"storage/store.h"')
        self.assert_clean(check_includes.check)

    def test_side_by_side_folders_do_not_meet(self):
        self.source("policy/evaluate.h")
        self.source("storage/store.h", '"policy/evaluate.h"')
        self.source("server/app.h")
        self.source("cli/output.h")
        self.source("cli/verbs/hash.cc", '"server/app.h"')
        self.source("worker/agent.cc", '"cli/output.h"')
        self.source("server/http/gate.h", '"storage/store.h"')
        self.source("attestation/simulate/pki.h")
        self.source("attestation/dsse.h", '"attestation/simulate/pki.h"')
        self.source("attestation/tdx/verify.h", '"attestation/dsse.h"', "<fstream>")
        self.source("server/service/nodes/enrol.cc", '"attestation/simulate/pki.h"')
        self.source("server/service/documents/accept.cc", '"server/http/gate.h"', "<boost/asio.hpp>")
        self.assert_finds(check_includes.check, "storage may not include policy",
                          "cli/verbs may not include server", "worker may not include cli",
                          "server/http may not include storage",
                          "attestation may not include attestation/simulate",
                          "attestation/tdx may not include attestation (",
                          "attestation/tdx may not include <fstream>",
                          "server/service/nodes may not include attestation/simulate",
                          "server/service/documents may not include server/http",
                          "server/service may not include <boost/asio.hpp>")

    def test_core_and_gpu_hash_build_alone(self):
        self.source("schemas/manifest.h")
        self.source("schemas/core/error.h", '"schemas/manifest.h"')
        self.source("gpu_hash/engine.h", '"schemas/manifest.h"')
        self.assert_finds(check_includes.check, "schemas/core may not include schemas",
                          "gpu_hash may not include schemas")

    README = "# A room\n\nIt knows nothing of files.\nIts errors are values.\n"

    def room(self, name):
        self.plant(f"gpu_hash/{name}/README.md", self.README)

    def test_rooms_are_included_by_name_and_from_inside(self):
        for name in ("cpu", "tree", "spread"):
            self.room(name)
        self.source("gpu_hash/engine.h", '"schemas/core/error.h"')
        self.source("schemas/core/error.h")
        self.source("gpu_hash/tree/fold.h", '"gpu_hash/engine.h"')
        self.source("gpu_hash/cpu/engine.h", '"gpu_hash/engine.h"', '"gpu_hash/tree/fold.h"')
        self.source("cli/verbs/hash.cc", '"gpu_hash/engine.h"')
        self.source("tests/gpu_hash/a_test.cc", '"gpu_hash/cpu/engine.h"')
        self.source("bench/gpu_hash/a.cc", '"gpu_hash/cpu/engine.h"', '"gpu_hash/engine.h"')
        self.source("bench/a.cc", '"gpu_hash/engine.h"', "<benchmark/benchmark.h>")
        self.assert_clean(check_includes.check)
        self.source("cli/verbs/hash.cc", '"gpu_hash/cpu/engine.h"')
        self.source("server/app.cc", '"gpu_hash/tree/fold.h"')
        self.source("bench/a.cc", '"gpu_hash/cpu/engine.h"')
        self.source("bench/gpu_hash/a.cc", '"gpu_hash/tree/fold.h"')
        self.source("gpu_hash/spread/engine.h", '"gpu_hash/cpu/engine.h"')
        self.source("gpu_hash/region.h", '"gpu_hash/tree/fold.h"')
        self.assert_finds(
            check_includes.check, "cli/verbs may not include gpu_hash/cpu", "server may not include gpu_hash/tree",
            "bench may not include gpu_hash/cpu", "bench/gpu_hash may not include gpu_hash/tree",
            "gpu_hash/spread may not include gpu_hash/cpu", "gpu_hash may not include gpu_hash/tree")

    def test_rooms_have_a_row_and_a_rule(self):
        self.source("gpu_hash/attic/a.h")
        self.source("gpu_hash/cpu/a.h")
        self.source("gpu_hash/tree/a.h")
        self.plant("gpu_hash/tree/README.md", "# Tree\n\n" + "One more line.\n" * 6)
        self.source("bench/conditions/a.h")  # bench has no rooms
        found = self.found(check_includes.check)
        self.assertIn("gpu_hash/attic/a.h:1: gpu_hash/attic is no room of gpu_hash", found)
        self.assertIn("gpu_hash/cpu/README.md:1: a room says its rule", found)
        self.assertIn("gpu_hash/tree/README.md:1: a room says its rule", found)
        self.assertNotIn("bench/conditions", found)

    def test_no_row_outside_of_a_house_names_its_rooms(self):
        table = json.loads((self.root / check_includes.TABLE).read_text())
        table["folders"]["cli"]["may_include"]["gpu_hash/cpu"] = "planted"
        self.plant(check_includes.TABLE, json.dumps(table))
        self.assert_finds(check_includes.check, "cli lies outside of gpu_hash and may not name its room gpu_hash/cpu")

    def test_third_party_has_owners(self):
        self.source("storage/log.cc", "<sqlite3.h>", "<boost/url.hpp>", "<CL/cl.h>")
        self.source("schemas/core/a.cc", "<sqlite3.h>", "<unistd.h>")
        self.source("policy/a.cc", "<openssl/evp.h>", "<fstream>", "<sys/stat.h>")
        self.source("policy/a.h", "<nlohmann/json.hpp>")
        self.source("cli/a.cc", "<gtest/gtest.h>", "<unheard/of.h>")
        self.assert_finds(
            check_includes.check, "storage does not own sqlite", "storage does not own boost",
            "storage does not own opencl", "schemas/core/a.cc:4", "policy does not own openssl",
            "policy may not include <fstream>", "policy may not include <sys/stat.h>",
            "policy/a.h:3: nlohmann-json stays out of headers", "cli does not own googletest",
            "<unheard/of.h> is not listed")

    def test_forms_of_include(self):
        self.source("schemas/core/a.h", '"../core/b.h"', '"./b.h"', '"core/../b.h"', "HEADER_NAME",
                    '"missing.h"')
        self.assert_finds(check_includes.check, 'a.h:3: relative include "../core/b.h"',
                          "a.h:4: relative", "a.h:5: relative", "a.h:6: include is not literal",
                          'a.h:7: "missing.h" is no file')

    def test_comments_and_strings_do_not_count(self):
        self.plant("policy/a.cc", HEAD + '/*\n#include <sqlite3.h>\n*/\n// #include <sqlite3.h>\n'
                                         'auto x = R"(\n#include <sqlite3.h>\n)";\n')
        found = self.found(check_includes.check)
        self.assertNotIn("policy/a.cc:4", found)
        self.assertNotIn("policy/a.cc:6", found)

    def test_missing_policy(self):
        self.source("newfolder/a.cc", "<string>")
        self.source("schemas/a.cc", '"newfolder/a.cc"')
        self.assert_finds(check_includes.check, "newfolder/a.cc:1: folder without a policy",
                          "lies in a folder without a policy")

    def test_cycles(self):
        self.source("storage/a.h", '"storage/b.h"')
        self.source("storage/b.h", '"storage/c.h"')
        self.source("storage/c.h", '"storage/a.h"')
        self.assert_finds(check_includes.check, "include cycle: storage/")
        table = json.loads((self.root / check_includes.TABLE).read_text())
        table["folders"]["schemas/core"]["may_include"]["policy"] = "planted"
        self.plant(check_includes.TABLE, json.dumps(table))
        self.assert_finds(check_includes.check, "cycle in the table")

    def test_link_edges(self):
        self.plant("storage/CMakeLists.txt", "assay_library(storage SOURCES a.cc)\n")
        self.plant("policy/CMakeLists.txt",
                   "assay_library(policy\n  SOURCES b.cc\n  PRIVATE_DEPS assay::storage)\n")
        self.assert_finds(check_includes.check, "policy may not link storage")


class Docs(Planted):
    def setUp(self):
        super().setUp()
        self.plant("policy/facts.h", HEADER)
        self.plant("docs/design.md", "# Design\n## Trust\n")
        self.plant("docs/architecture.md", "See `policy/facts.h` and `policy`, [design](design.md#x).\n")

    def test_what_exists_is_clean(self):
        self.plant("docs/architecture.md",
                   "`policy/facts.h` `policy/` `/livez` `GET /v1/jobs` `application/json` `check_grant`\n"
                   "```\npolicy/gone.h\n```\n[a](https://example.com/x) [b](../policy/facts.h)\n")
        self.source_comment("// docs/design.md, \"Trust\"")
        self.assert_clean(check_docs.check)

    def source_comment(self, text):
        self.plant("policy/facts.cc", HEAD + text + "\n")

    def test_paths_that_are_gone(self):
        self.plant("docs/architecture.md", "# Map\n`policy/gone.h`\n`policy/room/`\n`facts.h`\n`absent/x.cc`\n")
        self.plant("docs/design.md", "`policy/moved`\n")
        self.assert_finds(check_docs.check, "architecture.md:2: `policy/gone.h` is no file",
                          "architecture.md:3: `policy/room/` is no file",
                          "architecture.md:4: `facts.h`: write the whole path",
                          "architecture.md:5: `absent/x.cc` is no file",
                          "design.md:1: `policy/moved` is no file")

    def test_links_and_citations_that_lead_nowhere(self):
        self.plant("docs/limits.md", "[a](gone.md)\n")
        self.source_comment("// (design section 5)\n// (design: one nonce)\n// see design.md")
        self.assert_finds(check_docs.check, "limits.md:1: link to gone.md", "facts.cc:3:", "facts.cc:4:",
                          "facts.cc:5:")

    def test_sections_that_are_cited_exist(self):
        self.source_comment('// (docs/design.md, "Trust")\n// docs/design.md,\n// "Gone"')
        found = self.found(check_docs.check)
        self.assertIn('facts.cc:4: docs/design.md has no section "Gone"', found)
        self.assertNotIn('"Trust"', found)

    def test_pages_are_there(self):
        (self.root / "docs/design.md").unlink()
        self.assert_finds(check_docs.check, "docs/design.md:1: the page is missing")


BAD_FORMS = {
    "capturing lambda, copy": "co_await run([q] { return 2; });",
    "capturing lambda, init": "co_await run([p = std::move(q)] { return 2; });",
    "capturing lambda, default copy": "co_await run([=] { return 2; });",
    "capturing lambda, mixed": "co_await run(1, [&a, q]() mutable { return 2; });",
    "capturing lambda called at once": "co_await [q]() -> net::awaitable<int> { co_return 1; }();",
    "capturing lambda of co_spawn":
        "net::co_spawn(co_await net::this_coro::executor, [q] { return 1; }, done);",
    "capturing lambda nested": "auto f = [&]() -> net::awaitable<int> { co_await run([q] {}); };",
    "aggregate": "co_await take({q, 1});",
    "aggregate, designated": "co_await take(Opts{.p = q, .x = 1});",
    "aggregate, qualified": "co_await take(1, other::Opts{});",
    "array": "const int n = co_await take(std::array<Probe, 2>{q, q});",
    "returned": "co_return co_await take({q});",
    "conditional": "co_await take(c ? Probe() : Probe());",
    "condition": "if (co_await ready()) { run(); }",
    "loop": "while (co_await ready()) { run(); }",
    "two": "const int n = co_await a() + co_await b();",
    "binding": "auto [a, b] = co_await read();",
    "binding by reference": "const auto& [a, b] = co_await read();",
    "statement expression": "int n = ({ co_await a(); });",
    "detached": "net::co_spawn(executor, run(), net::detached);",
    "operators": "using namespace net::experimental::awaitable_operators;",
}
GOOD_FORMS = {
    "named lambda": "auto f = [q] { return 2; };\n  co_await run(std::move(f));",
    "lambda by reference": "co_await run([&] { return 2; });",
    "lambda by reference, named": "co_await run([&q, this] { return q; });",
    "lambda without captures": "co_await run([](int x) { return Opts{x}; });",
    "named aggregate": "Opts o{q, 1};\n  co_await take(std::move(o));",
    "executor": "auto ex = co_await net::this_coro::executor;",
    "constructor": "co_await take(Ctor(q, 1));",
    "subscript": "co_await take(list[index], map[key]);",
    "branches": "if (x) {\n    co_await a();\n  } else {\n    co_await b();\n  }",
    "try": "try {\n    co_await a();\n  } catch (const E& e) {\n    log({1, 2});\n  }",
    "loop over a list": "for (const auto& [k, v] : map) {\n    co_await a(k);\n  }",
    "coroutine lambda":
        "auto body = [g = std::move(f)]() mutable -> net::awaitable<int> { co_return g(); };\n"
        "  co_return co_await net::co_spawn(pool, std::move(body), net::use_awaitable);",
    "comment": "// co_await take({q});\n  co_await take(\"({q})\");",
}


class Coroutines(Planted):
    FILE = "server/http/session.cc"

    def body(self, code):
        return HEAD + f"net::awaitable<void> f(Probe q) {{\n  {code}\n}}\n"

    def test_bad_forms(self):
        for name, code in BAD_FORMS.items():
            with self.subTest(name):
                self.plant(self.FILE, self.body(code))
                self.assertNotEqual(self.found(check_coroutines.check), "", code)

    def test_good_forms(self):
        for name, code in GOOD_FORMS.items():
            with self.subTest(name):
                self.plant(self.FILE, self.body(code))
                self.assert_clean(check_coroutines.check)

    def test_default_arguments(self):
        for parameters, clean in (("Opts o = {}", False), ("int a, std::string s = std::string()", False),
                                  ("int a = 3, bool b = true, void* p = nullptr", True),
                                  ("Mode m = Mode::kFast, Opts o", True)):
            with self.subTest(parameters):
                self.plant("server/session.h", HEADER + f"net::awaitable<int> f({parameters});\n")
                self.assertEqual(self.found(check_coroutines.check) == "", clean)

    def test_only_listed_files(self):
        self.plant("server/routes.cc", self.body("co_return;"))
        self.plant("storage/a.cc", self.body("co_await x;"))
        self.assert_finds(check_coroutines.check, "server/routes.cc:4: coroutine outside",
                          "storage/a.cc:4: coroutine outside")

    def test_the_bad_canary_is_bad(self):
        text = (sources.ROOT / check_coroutines.BAD_CANARY).read_text()
        self.plant(self.FILE, text)
        self.assert_finds(check_coroutines.check, "capturing lambda", "braced temporary")


class Console(Planted):
    def test_rules(self):
        head = HEAD.replace("A file", "A module")
        self.plant(check_console.BUILD, "console/a.js console/dom.js console/page.html console/long.js")
        self.plant("server/console/dom.js", head + "e.setAttribute(name, value);\n")
        self.plant("server/console/a.js", head + 'import { h } from "./dom.js";\nh("p").textContent = "<b>";\n')
        self.assert_clean(check_console.check)
        planted = {
            "e.innerHTML = text;": "text becomes HTML", "e.insertAdjacentHTML(a, b);": "text becomes HTML",
            "eval(text);": "text becomes code", 'setTimeout("x()", 1);': "text becomes code",
            "await import(name);": "text becomes code", "localStorage.token = token;": "a store",
            "document.cookie = token;": "a store", "history.replaceState(a, b, c);": "a store",
            "e.setAttribute(name, value);": "not written here", 'e.setAttribute("onclick", x);': "runs",
            "e.onclick = go;": "inline", "e.style.color = c;": "inline", "fetch(url);": "only api.js",
            "window.open(url);": "a way out", 'get("https://example.com");': "elsewhere",
            'import { x } from "https:x";': "modules beside it",
        }
        for line, found in planted.items():
            with self.subTest(line=line):
                self.plant("server/console/a.js", head + line + "\n")
                self.assert_finds(check_console.check, "server/console/a.js:3", found)
        self.plant("server/console/a.js", head + "// innerHTML is not used\n")
        for line in ("<script>x()</script>", "<p style='a'>", "<p onclick=x>", '<img src="//a">'):
            with self.subTest(line=line):
                self.plant("server/console/page.html", HEAD.split("\n")[0] + "\n" + line + "\n")
                self.assert_finds(check_console.check, "page.html:2: inline")
        self.plant("server/console/long.js", head + "x;\n" * 400)
        self.plant("server/console/other.js", head)
        self.assert_finds(check_console.check, "402 lines", "other.js:1: not embedded")


class Files(Planted):
    def finds(self, path, text, *parts):
        self.plant(path, text)
        self.assert_finds(check_files.check, *parts)
        (self.root / path).unlink()

    def test_clean_files(self):
        self.plant("schemas/core/a_b1.h", HEADER + "// TO" + "DO(#12): later\nint f();\n")
        self.plant("schemas/core/a_b1.cc", HEAD.split("\n")[0] + "\n\n#include \"schemas/core/a_b1.h\"\n")
        self.plant("schemas/b.h", HEAD + "// multi-include: one table, several uses\n")
        self.plant("deploy/a.sh", "#!/bin/sh\n# SPDX-License-Identifier: Apache-2.0\n")
        (self.root / "deploy/a.sh").chmod(0o755)
        self.plant("docs/a.md", "Gr\u00fc\u00dfe ~/x $HOME/home/x https://h/ro" "ot/\n")
        self.assert_clean(check_files.check)

    def test_names(self):
        for name in ("HttpSession.cc", "a-b.h", "a__b.h", "1a.cl"):
            self.finds("server/" + name, HEADER, "snake_case")
        self.finds("server/a.cpp", HEADER, "end in .h or .cc")
        self.finds("tests/server/a_tests.cc", HEAD, "<unit>_test.cc")

    def test_licence(self):
        self.finds("server/a.cc", "// a file\n" * 3, "a.cc:1: line 1 must be")
        self.finds("server/a.cc", HEAD.split("\n")[0] + "\n\nint x;\n", "a.cc:2: line 2 must")
        self.finds("gpu_hash/a.cl", "kernel\n", "a.cl:1: line 1 must be")
        self.finds("deploy/a.sh", "#!/bin/sh\nset -e\n", "a.sh:1: line 1 (2 after #!)", "chmod +x")
        self.finds("deploy/a", "#!/bin/sh\nset -e\n", "a:1: line 1 (2 after #!)")

    def test_text(self):
        self.finds("server/a.cc", HEAD + "int x; \n", "a.cc:3: trailing whitespace")
        self.finds("docs/a.md", "x\t\n", "a.md:1: trailing whitespace")
        self.finds("server/a.cc", HEAD + "// \u00e9\n", "a.cc:3: code is ASCII")
        self.finds("server/a.cc", HEAD + "// TO" + "DO: later\n", "a.cc:3: open tasks")
        self.finds("server/a.cc", HEAD + "// FIX" + "ME later\n", "a.cc:3: open tasks")
        self.finds("server/a.cc", HEAD + "int x;", "a.cc:3: no newline at the end")
        self.finds("server/a.h", HEAD, "without #pragma once")

    def test_local_paths(self):
        for path in ("/wo" "rk/x", "a/wo" "rk/b", "/ho" "me/me/x", '"/ro' 'ot/x"'):
            self.finds("docs/a.md", path + "\n", "a.md:1: path of one machine")

    def test_private_key(self):
        key = "-----BEGIN PRIVATE KEY-----\n" + "QUJD" * 16 + "\n"
        self.finds("deploy/a.txt", key, "a.txt:1: private key")
        self.plant("tests/vectors/a.txt", key)
        self.assert_clean(check_files.check)

    def test_sizes(self):
        lines = "int x;\n"
        self.finds("server/a.h", HEADER + lines * 250, "at most 250")
        self.finds("server/a.cc", HEAD + lines * 500, "at most 500")
        self.finds("tests/server/a_test.cc", HEAD + lines * 600, "at most 600")
        self.plant("tests/server/a_test.cc", HEAD + lines * 590)
        marked = HEAD.split("\n")[0] + "\n// long-file: a table\n"
        self.plant("server/a.cc", marked + lines * 500)
        self.assert_clean(check_files.check)

    def test_functions(self):
        body = "  g();\n" * 60
        for head in ("int f(int a) {", "A::A(int a) : a_(a), b_{a} {", "template <class T>\nint f() {",
                     "TEST(A, B) {", "auto f() -> int {", "class A {\n public:\n  void f() const {",
                     "namespace a {\nstruct B final {\n  B() noexcept {"):
            with self.subTest(head):
                self.finds("server/a.cc", HEAD + head + "\n" + body + "}\n" * 3, "function of 62 lines"
                           if not head.startswith("template") else "function of 63 lines")
        self.plant("server/a.cc", HEAD + "// long-function: a table\nint f(int a) {\n" + body + "}\n")
        self.assert_clean(check_files.check)

    def test_declarations_are_no_functions(self):
        members = "".join(f"  int f{i}();\n" for i in range(70))
        self.plant("server/a.h", HEADER + "namespace a {\nclass B : public C<D> {\n" + members +
                   "};\nenum class E {\n" + "".join(f"  k{i},\n" for i in range(70)) + "};\n}\n")
        self.plant("server/b.cc", HEAD + "const std::array<int, 70> kTable = {{\n" + "  1,\n" * 70 +
                   "}};\nint f() { return 1; }\n")
        self.assert_clean(check_files.check)


class LocalNames(Planted):
    ONE = ("namespace assay {\nnamespace {\n\nconstexpr int kMost = 1;\nstruct Part {\n  int x;\n};\n"
           "Result<int> read(const Part& part) {\n  return part.x;\n}\n\n}  // namespace\n}  // namespace assay\n")

    def plant_library(self, other, more=""):
        self.plant("storage/CMakeLists.txt", f"assay_library(storage SOURCES a.cc b.cc)\n{more}")
        self.plant("storage/a.cc", self.ONE)
        self.plant("storage/b.cc", f"namespace assay {{\n{other}\n}}  // namespace assay\n")

    def found_with(self, other, more=""):
        self.plant_library(f"namespace {{\n{other}\n}}  // namespace", more)
        return self.found(check_local_names.check)

    def test_a_second_meaning(self):
        for other in ("constexpr long kMost = 2;", "class Part final {\n};", "enum class Part {\n  kA\n};",
                      "using Part = int;", "Status read(const Part& p) {\n  return {};\n}",
                      "Status read(const\n            Part& p) {\n  return {};\n}"):
            self.assertIn("is a local name of storage/a.cc as well", self.found_with(other), other)

    def test_what_may_stay(self):
        for other in ("constexpr int kLeast = 1;", "int read(const Other& part) {\n  return 1;\n}",
                      "void use() {\n  struct Part {\n  };\n}", "int read(const Part& part);"):
            self.assertEqual("", self.found_with(other), other)
        clash = "struct Part {\n};"
        for kind in ("alone", "apart"):
            self.assertEqual("", self.found_with(clash, f"assay_{kind}(b.cc)\n"))
        self.assertIn("is a local name", self.found_with(clash, "assay_apart(a.cc b.cc)\n"))
        self.plant_library(clash)  # in a namespace that has a name
        self.assertEqual("", self.found(check_local_names.check))

    def test_a_local_type_with_the_name_of_a_headers_type(self):
        self.plant("schemas/part.h", "namespace assay {\nstruct Part {\n  int y;\n};\n}  // namespace assay\n")
        use = "int f(const Part& part) {\n  return part.y;\n}"
        self.assertEqual("", self.found_with(use))  # a Part of somewhere else
        for more, said in (("", "Part is a type of schemas/part.h that storage/b.cc uses"),
                           ("assay_alone(a.cc)\n", "")):
            self.plant_library(use, more)
            text = (self.root / "storage/b.cc").read_text()
            self.plant("storage/b.cc", '#include "schemas/part.h"\n' + text)
            found = self.found(check_local_names.check)
            self.assertTrue(said in found if said else not found, found)


    def test_two_types_of_one_name_in_one_namespace(self):
        self.plant("server/a.h", "namespace assay {\nstruct Part {\n  int x;\n};\n}  // namespace assay\n")
        other = "namespace assay::b {\nstruct Part {\n  int y;\n};\nstruct Part::Inner {\n};\n}  // namespace assay::b\n"
        self.plant("server/b.h", other)
        self.assert_clean(check_local_names.check)
        self.plant("server/c.h", other.replace("::b", ""))
        self.assert_finds(check_local_names.check, "c.h:2: Part is a type of server/a.h as well")


class Verifiers(Planted):
    """What verifiers of evidence must not do, planted in one of their files."""

    PLACES = ("attestation/tdx/verify.cc", "attestation/cose/sign1.h", "attestation/corim/corim.cc",
              "attestation/jws.cc", "attestation/outside_ear.cc", "attestation/tdx_evidence.cc",
              "attestation/ear_evidence.cc", "attestation/plugin/plugin_verifier.cc")
    REFUSED = {
        "through a reader": (
            "auto* header = reinterpret_cast<const Header*>(bytes.data());",
            "const auto header = std::bit_cast<Header>(first);",
            "std::memcpy(&header, bytes.data(), sizeof header);", "memmove(&header, p, 48);",
            "auto* h = std::start_lifetime_as<Header>(p);", "union Field {\n  int x;\n};"),
        "no clock": (
            "const auto now = std::chrono::system_clock::now();", "using Clock = steady_clock;",
            "const Timestamp now = SystemClock().now();", "clock_gettime(CLOCK_REALTIME, &t);",
            "gettimeofday(&t, nullptr);", "const auto t = time(nullptr);", "x = std::time(nullptr);",
            "auto t = ::time(&now);", "auto t = time( 0 );", "const tm* t = localtime(&now);",
            "const auto t = clock();"),
        "environment": ('const char* home = std::getenv("HOME");', 'secure_getenv("X");',
                        'setenv("X", "", 1);', "char** all = environ;"),
        "keep nothing": ("static std::map<Digest, Bytes> seen;", "static int calls = 0;",
                         "static std::mutex mutex;", "thread_local Bytes buffer;",
                         "static std::vector<Bytes>\n    kept{};"),
    }  # fmt: skip
    FREE = (
        "const auto issued = fields::time(*json, \"issueDate\");", "// a clock: system_clock::now()",
        "std::optional<Timestamp> time(const Json& object, const char* name) {",
        "const std::string text = \"getenv() and reinterpret_cast\";", "f(now);", "g(member.time(0));",
        "static const std::vector<Measurement> firmware = firmware_digests();",
        "static constexpr int kMost = 3;", "static OSSL_LIB_CTX* const context = made();", "static void add(Section section, Facts& facts) {",
        "static_cast<void>(value);", "static Result<TrustAnchor> from_der(ByteView der);",
        "static SecureBootDigests made() noexcept { return {}; }",
    )  # fmt: skip

    def found_in(self, path, line):
        self.plant(path, (HEADER if path.endswith(".h") else HEAD) + line + "\n")
        found = self.found(check_verifiers.check)
        (self.root / path).unlink()
        return found

    def test_each_word_is_named(self):
        for reason, lines in self.REFUSED.items():
            for line in lines:
                with self.subTest(line):
                    found = self.found_in(self.PLACES[0], line)
                    self.assertIn(f"{self.PLACES[0]}:3: ", found)
                    self.assertIn(reason, found)

    def test_each_verifier_is_looked_at(self):
        for place in self.PLACES:
            self.assertIn("no clock", self.found_in(place, "auto t = time(nullptr);"), place)

    def test_what_may_stand_there(self):
        for line in self.FREE:
            self.assertEqual(self.found_in(self.PLACES[0], line), "", line)

    def test_others_may(self):
        for place in ("attestation/private_key.cc", "attestation/provider/tsm.cc",
                      "attestation/plugin/host.cc", "attestation/simulate/pki.cc", "server/main.cc"):
            self.assertEqual(self.found_in(place, "auto t = time(nullptr);"), "", place)


class Reasons(Planted):
    ROW = '\n// --- G\nASSAY_REASON(kA, "a",\n  "T",\n  "E.",\n  "N.")\n'

    def test_page_is_that_of_the_table(self):
        self.plant(check_reasons.TABLE, HEAD + self.ROW)
        self.assert_finds(check_reasons.check, check_reasons.PAGE)
        page = check_reasons.page_of(HEAD + self.ROW)
        self.assertIn("## G\n\n### a\n**T.** E.\n\nWhat to do: N.\n", page)
        self.plant(check_reasons.PAGE, page)
        self.assert_clean(check_reasons.check)
        self.plant(check_reasons.PAGE, page.replace("N.", "M."))
        self.assert_finds(check_reasons.check, "is not what the table says")

    def test_row_that_cannot_be_read(self):
        self.plant(check_reasons.TABLE, HEAD + self.ROW + 'ASSAY_REASON(kB, "b", "T")\n')
        self.assert_finds(check_reasons.check, "rows that cannot be read")


class SeenCodes(Planted):
    """tests/support/check_seen_codes.py, which tests/run.sh calls when all tests ran."""

    def found(self, seen, listed=""):
        self.plant("schemas/core/error_codes.def", 'ASSAY_ERROR(kA, "a", 1)\nASSAY_ERROR(kB, "b", 1)\n')
        self.plant("schemas/reason_codes.def", 'ASSAY_REASON(kA, "a",\n "T")\n')
        self.plant(check_seen_codes.LIST, listed)
        return "\n".join(check_seen_codes.problems(self.root, seen))

    def test_all_were_seen(self):
        self.assertEqual(self.found("error 0\nerror 1\nreason 0\n"), "")
        self.assertEqual(self.found("text a\ntext b\ntext c\n"), "")
        self.assertEqual(self.found("text a\n", "# why\nerror b: nothing makes it yet\n"), "")

    def test_a_code_is_missing(self):
        self.assertIn("error b: no test saw it", self.found("error 0\nreason 0\nreason 1\nerror x\n"))
        self.assertIn("reason a: no test saw it", self.found("error 0\nerror 1\n"))
        self.assertEqual(len(self.found("").splitlines()), 3)

    def test_the_list_says_only_what_is_so(self):
        self.assertIn("sees it by now",
                      self.found("text a\nerror 1\n", "error b: nothing makes it yet\n"))
        self.assertEqual(self.found("text a\ntext b\n", "error b: nothing makes it yet\n"), "")
        self.assertIn("no such code", self.found("text a\ntext b\n", "error c: nothing makes it\n"))
        self.assertIn("not 'KIND CODE", self.found("text a\ntext b\n", "error b: no\n"))


class Schemas(Planted):
    PATH = "schemas/json/a.schema.json"

    def schema(self, **members):
        return json.dumps({"$schema": check_schemas.DRAFT, **members})

    def finds(self, text, part):
        self.plant(self.PATH, text)
        self.assert_finds(check_schemas.check, part)

    def test_clean(self):
        self.plant(self.PATH, self.schema(
            type="object", required=["a"], additionalProperties=False,
            properties={"a": {"$ref": "#/definitions/d", "description": "d"}, "minContains": True},
            definitions={"d": {"type": "string", "pattern": "^a$"}},
            dependencies={"a": ["b"]}, examples=[{"$defs": 1}]))
        self.assert_clean(check_schemas.check)

    def test_later_keywords(self):
        for name, value in (("unevaluatedProperties", False), ("$defs", {}), ("prefixItems", []),
                            ("dependentRequired", {}), ("dependentSchemas", {}), ("minContains", 1),
                            ("$anchor", "a"), ("$recursiveRef", "#")):
            with self.subTest(name):
                nested = {"properties": {"x": {"items": {name: value}}}}
                self.finds(self.schema(**nested), f"{name} is no keyword of draft-07")
                self.finds(self.schema(allOf=[{"not": {name: value}}]), f"{name} is no keyword")

    def test_other_errors(self):
        self.finds("{", "not JSON")
        self.finds('{"type": "object", "type": "array"}', "duplicate member")
        self.finds('{"$schema": "https://json-schema.org/draft/2020-12/schema"}', '"$schema" must be')
        self.finds(self.schema(type="sting"), "#/type")
        self.finds(self.schema(properties={"a": {"$ref": "#", "minLength": 1}}), "beside $ref")
        self.plant("schemas/json/b.json", "{}")
        self.assert_finds(check_schemas.check, "named <document>.schema.json")


class Words(Planted):
    LONG = "The node " + "very " * 33 + "often asks."  # 37 words
    BARE = ("It is so.", "They hold.", "This means that.", "This also counts.", "That is why.",
            "That names its node.", "That alone counts.", "These are two.", "Those hold.",
            "These name the node.", "These never end.", "**It** is so.", "It's so.", "\"This is so.\"")
    NAMED = ("Its node is.", "This node is.", "This class is.", "This one-way list.", "That node is gone.",
             "That names are unique is tested.", "That the node is known is tested.", "These nodes are.",
             "These two are.", "Those of the node.", "Those who ask.", "IT departments.", "Items are.",
             "These names hold.", "`It` is so.", "What is it?", "Whatsoever.", "**What it is.** A node.",
             "## What it is")
    ENDS = (("It is (e.g. RFC 9162) new, i.e. Assay. It ends.", 2), ("See RFC 5280 section 4.2. It ends.", 2),
            ("See No. 5 and fig. 2 vs. Intel. No. The end.", 3), ("See etc. and so on ... here. So etc. It ends.", 3),
            ("`a. B c. D` is v1.2.3 of https://a.b/c. It ends.", 2), ("Is it?) \"Yes!\" [Ends.](a.md) It does.", 4))

    def setUp(self):
        super().setUp()
        self.plant("README.md", "# Assay\nTwo words.\n")
        self.plant("docs/a.md", "One page of six words only.\n")
        self.plant("docs/reasons.md", "It is made.\n")
        self.write()

    def write(self):
        sources.read.cache_clear()
        check_words.write(self.root)

    def budget(self):
        return json.loads((self.root / check_words.BUDGET).read_text())

    def change(self, **members):
        self.plant(check_words.BUDGET, check_words.text_of(self.budget() | members))

    def test_first_budget_is_the_tree(self):
        self.assertEqual(self.budget(),
                         {"total": 9, "pages": {"README.md": 3, "docs/a.md": 6}, "sentences": {}})
        self.assert_clean(check_words.check)
        (self.root / check_words.BUDGET).unlink()
        self.assert_finds(check_words.check, "word_budget.json:1: is missing")

    def test_pages_do_not_grow(self):
        self.plant("docs/a.md", "One page of six words and more.\n")
        self.assert_finds(check_words.check, "docs/a.md:1: words: 7, the budget has 6",
                          "words: 10 in all pages, the budget has 9")
        self.write()
        self.assert_finds(check_words.check, "docs/a.md:1: words: 7, the budget has 6")
        self.change(pages={"README.md": 3, "docs/a.md": 7})
        self.assertNotIn("docs/a.md", self.found(check_words.check))
        self.change(total=10)
        self.assert_clean(check_words.check)
        self.plant("docs/b/new.md", "New.\n")
        self.assert_finds(check_words.check, "docs/b/new.md:1: words: a new page of 1 words needs its row")

    def test_fewer_words_lower_the_budget_when_asked(self):
        self.plant("docs/a.md", "One page.\n")
        (self.root / "README.md").unlink()
        self.assert_clean(check_words.check)
        self.write()
        self.assertEqual(self.budget(), {"total": 2, "pages": {"docs/a.md": 2}, "sentences": {}})

    def test_words_of_a_page(self):
        for page, words in (("# One two\n- three *four*, `five` [six](a/b.md) - 7\n", 7),
                            ("| a | b c |\n|---|:-:|\n| d | - |\n", 4),
                            ("a\n```sh\nb c\n```\nd\n- e\n  ~~~~\n  f\n  ~~~\n  ~~~~\n  g\n", 4),
                            ("<!-- a\nb -->\nc\n", 1), ("> a \u2014 b & c\n1. d\n", 5)):
            self.assertEqual(prose.words_of_page(page), words, page)

    def found_with(self, path, text):
        self.plant(path, text)
        found = self.found(check_words.check)
        (self.root / path).unlink()
        return found

    def test_sentences_of_new_text(self):
        page, clause = "Good.\n\nGood again. " + self.LONG + "\n", "What the node\nsent is kept."
        self.assertIn("policy/README.md:3: long: 37 words, at most 35: one claim a sentence (1 in this file, "
                      f"the baseline has 0): {self.LONG}", self.found_with("policy/README.md", page))
        self.assertIn("SECURITY.md:3: clause: begins with a clause: name the thing",
                      self.found_with("SECURITY.md", "# What it is\n\n" + clause))
        self.assertIn("policy/a.h:5: clause",
                      self.found_with("policy/a.h", HEADER + "// Whoever asks\n// waits.\n"))
        self.assertIn("policy/a.cc:4: pronoun",
                      self.found_with("policy/a.cc", HEAD + "// A node\n// asks. It waits.\n"))
        self.assertIn("policy/a.cc:4: long", self.found_with(
            "policy/a.cc", HEAD + "\n" + "int a;  // " + self.LONG.replace(" often", "\n        // often") + "\n"))
        self.assertIn("docs/a.md:3: pronoun", self.found_with("docs/a.md", "| a |\n| --- |\n| Good. It is. |\n"))

    def test_pronouns(self):
        for text in self.BARE:
            self.assertIn("SECURITY.md:1: pronoun", self.found_with("SECURITY.md", text + "\n"), text)
        for text in self.NAMED:
            self.assertEqual(self.found_with("SECURITY.md", text + "\n"), "", text)

    def test_titles(self):
        for path, text in (("a_test.cc", "TEST_F(Node,\n       WhatIsGone_Counts) {"),
                           ("a_test.cc", "\nTEST(Node, ItCounts) {"), ("a_test.cc", "\nTEST_P(Node, ThoseHold) {"),
                           ("test_a.py", "\n    def test_whoever_asks(self):")):
            self.assertIn(f"tests/b/{path}:2: title: ", self.found_with("tests/b/" + path, text + "\n"), text)
        for path, text in (("tests/a_test.cc", "TEST(It, Items_AreWhatTheyAre) {"),
                           ("tests/test_a.py", "def test_thisness():"), ("python/a.py", "def test_what():"),
                           ("tests/a_test.cc", "TEST(A, ThisNode_IsGone) {")):
            self.assertEqual(self.found_with(path, text + "\n"), "", text)

    def test_ends_of_sentences(self):
        for text, count in self.ENDS:
            self.assertEqual(len(list(prose.sentences([(1, text)]))), count, text)

    def test_no_sentences(self):
        many = [f"word{i}" for i in range(40)]
        for path, text in (
                ("a.md", "```\n" + " ".join(many) + "\n```\n"), ("a.md", "- " + "\n- ".join(many)),
                ("a.md", "| " + " | ".join(many) + " |\n"), ("a.md", "See `" + "`, `".join(many) + "` and `b`.\n"),
                ("a.md", "\n\n".join(many)), ("a.h", HEADER + "//   " + "\n//   ".join(many) + "\n"),
                ("a.h", HEADER + "".join(f"// {i}   {i} {i}\n" for i in many)),
                ("a.h", HEADER + "".join(f"// - {i} it\n//   is.\n" for i in many)),
                ("a.h", HEADER + "".join(f"int a;  // {i}\n" for i in many)),
                ("a.cc", HEAD + 'auto a = "// ' + " ".join(many) + '";\n'),
                ("a.cc", HEAD + "f(" + ", ".join(many) + ");\n"),
                ("a.h", HEADER + "// Errors: " + "; ".join(f"code{i} when it is so" for i in range(9)) + ".\n"),
                ("tests/vectors/a.md", "It is.\n")):
            self.assertEqual(self.found_with(path, text), "", text)

    def test_a_baseline_is_a_number(self):
        self.change(sentences={"SECURITY.md": {"pronoun": 2, "long": 1}})
        self.assertEqual(self.found_with("SECURITY.md", "It is. They are.\n"), "")
        found = self.found_with("SECURITY.md", "It is. They are. It was.\n")
        self.assertEqual(found.count("SECURITY.md:"), 3)
        self.assertIn("(3 in this file, the baseline has 2): It was.", found)
        self.plant("SECURITY.md", "It is.\n")
        self.plant("LATER.md", "It is.\n")
        self.write()
        self.assertEqual(self.budget()["sentences"], {"SECURITY.md": {"pronoun": 1}})
        self.assertIn("LATER.md:1: pronoun", self.found(check_words.check))

    def test_the_new_one_is_named_where_git_knows_it(self):
        self.plant("SECURITY.md", "It is old.\n\nGood.\n")
        for words in (("init", "-q"), ("add", "."),
                      ("-c", "user.name=a", "-c", "user.email=a", "commit", "-qm", "a")):
            subprocess.run(["git", "-C", str(self.root), *words], check=True, capture_output=True)
        self.change(sentences={"SECURITY.md": {"pronoun": 1}})
        self.plant("SECURITY.md", "It is old.\n\nIt is new.\n")
        self.assertEqual(self.found(check_words.check).count("SECURITY.md:"), 1)
        self.assert_finds(check_words.check, "SECURITY.md:3: pronoun",
                          "(2 in this file, the baseline has 1): It is new.")


class Headers(Planted):
    def test_header_that_needs_another_is_found_and_cached_when_good(self):
        self.plant("schemas/core/good.h", HEADER + "#include <string>\nstd::string f();\n")
        self.plant("schemas/core/bad.h", HEADER + "std::string f();\n")
        self.plant("schemas/core/part.h", HEAD + "// multi-include: a part of its includer\nstd::string p();\n")
        # Proven by the build, so not compiled here, though it is bad.
        self.plant("schemas/core/a.h", HEADER + "std::string h();\n")
        self.plant("schemas/core/a.cc", HEAD + '#include "schemas/core/a.h"\n\n#include <string>\n')
        build = self.root / "build"
        self.plant("build/compile_commands.json", json.dumps([{
            "directory": str(build), "file": str(self.root / "schemas/core/a.cc"),
            "command": f"ccache g++ -std=c++23 -I{self.root} -MD -MF x.d -o a.o -c a.cc"}]))
        findings = check_headers.check(self.root, build)
        self.assertEqual([f.path for f in findings], ["schemas/core/bad.h"])
        self.assertIn("does not compile alone", findings[0].text)

        # Nothing changed: the good header is not compiled again. A change is noticed.
        depfile = build / "lint/headers/schemas/core/good.h.d"
        first = depfile.stat().st_mtime_ns
        check_headers.check(self.root, build)
        self.assertEqual(depfile.stat().st_mtime_ns, first)
        self.plant("schemas/core/good.h", HEADER + "unknown g();\n")
        self.assertEqual(len(check_headers.check(self.root, build)), 2)

    def test_sources_compiled_together_with_a_precompiled_header(self):
        self.plant("policy/proven.h", HEADER + "std::string f();\n")
        self.plant("policy/a.cc", HEAD + '#include "policy/proven.h"\n')
        self.plant("policy/bad.h", HEADER + "std::string g();\n")
        self.plant("build/Unity/unity_0_cxx.cxx", f'/* generated */\n#include "{self.root}/policy/a.cc"\n')
        build = self.root / "build"
        self.plant("build/pch/cmake_pch.hxx", "#include <string>\n")
        self.plant("build/compile_commands.json", json.dumps([{
            "directory": str(build), "file": str(build / "Unity/unity_0_cxx.cxx"),
            "command": f"g++ -std=c++23 -I{self.root} -include {build}/pch/cmake_pch.hxx -o a.o -c a.cxx"}]))
        self.assertEqual([f.path for f in check_headers.check(self.root, build)], ["policy/bad.h"])


class Reading(unittest.TestCase):
    def test_lexical_traps(self):
        text = "int a = 1'000'000; char q = '\\''; // {\nauto s = R\"x({)\" )x\"; /* { */ void f() {}\n"
        reader = cpp.Reader(text)
        self.assertEqual(len(reader.functions), 1)
        self.assertEqual(reader.functions[0].first_line, 2)

    def test_preprocessor_is_skipped(self):
        reader = cpp.Reader("#define BODY { \\\n  {\nvoid f() {\n  g();\n}\n")
        self.assertEqual([f.lines for f in reader.functions], [3])


@unittest.skipUnless(shutil.which("clang-format-19"), "clang-format-19 is not installed")
class Format(unittest.TestCase):
    def test_style_of_the_project(self):
        text = ('#include "a/b.h"\n#include <string>\n#include <openssl/evp.h>\n#include <sys/stat.h>\n'
                "int  f(int *p){if(p) return 1;return 0;}\n")
        out = subprocess.run(["clang-format-19", "--assume-filename", str(sources.ROOT / "a" / "c.cc")],
                             input=text, capture_output=True, text=True, check=True).stdout
        self.assertEqual(out, '#include <string>\n#include <sys/stat.h>\n\n#include <openssl/evp.h>\n\n'
                              '#include "a/b.h"\nint f(int* p) {\n  if (p) {\n    return 1;\n  }\n'
                              '  return 0;\n}\n')


@unittest.skipUnless(os.environ.get("ASSAY_GXX") or shutil.which("g++"), "needs g++")
class Canary(unittest.TestCase):
    """Runs the two canaries; kept out of the default run (see CMakeLists.txt)."""

    def balances(self, name):
        compiler = os.environ.get("ASSAY_GXX") or "g++"
        with tempfile.TemporaryDirectory() as folder:
            program = os.path.join(folder, name)
            subprocess.run([compiler, "-std=c++23", "-O1", f"-I{sources.ROOT}", "-o", program,
                            str(sources.ROOT / "tests/lint" / f"{name}.cc")], check=True)
            out = subprocess.run([program], capture_output=True, text=True).stdout
        return [int(line) for line in out.split()]

    def test_allowed_forms_are_compiled_rightly(self):
        self.assertEqual(self.balances("canary_good"), [0, 0])

    def test_forbidden_forms_are_still_compiled_wrongly(self):
        self.assertEqual(self.balances("canary_bad"), [-1, -1],
                         "this compiler treats the forbidden forms otherwise: look at the coroutine rules anew")


if __name__ == "__main__":
    unittest.main()
