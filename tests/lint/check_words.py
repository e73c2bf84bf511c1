# SPDX-License-Identifier: Apache-2.0
"""Pages do not grow, and no file gets more sentences that have to be read twice.

word_budget.json has the words of each page of docs/ and of README.md, and how many sentences of each kind
below a file has. More is refused; fewer is fine, and `check_words.py --write` lowers the numbers. Growth
needs the number changed by hand in the same commit, and so do a new page and a file with a new name.

  long     a sentence of more than 35 words
  pronoun  one that begins with It, They, or a This, That, These, Those that stands alone
  clause   one that begins with a clause instead of a thing: "What the node sent is ...", "Whoever asks ..."
  title    the title of a test that begins with such a pronoun or clause

Sentences are those of pages and of comments in C++; prose.py says how they are read.
"""

import collections
import json
import re
import subprocess
import sys

import prose
import sources
from sources import Finding

BUDGET = "tests/lint/word_budget.json"
KINDS = ("long", "pronoun", "clause", "title")
MOST_WORDS = 35
_GENERATED = ("docs/reasons.md",)
_NOT_OURS = ("tests/vectors/", "tests/fuzz/corpus/")
_CODE = (".h", ".cc", ".cl", ".def", ".c")

# Verbs that are hardly ever nouns or adjectives: "These hold ..." has a pronoun, "These reports hold ..." none.
_HELPERS = """am are is was were be has have had do does did can cannot could may might must shall should will
would needn't isn't aren't doesn't don't""".split()
_VERBS = """allow apply arrive ask become begin belong bind break bring cause choose come compare concern contain
correspond decide depend describe differ enter exist expire explain fail fit follow get give go grow happen hold
include keep know leave let lie live lose make mean meet mention move need occur prevent produce prove put refer
refuse remain remove replace require resemble say see seem send serve show speak stand stay stop suffice take tell
turn verify wait want write""".split()
_ADVERBS = "again alone already also always never not now often still then therefore thus too usually".split()
_SINGULAR = {verb + "s" for verb in _VERBS} | {"goes", "passes", "matches", "relies", "carries", "applies"}
# These can be nouns, too: "That names its owner" has a pronoun, "That names are unique, ..." none.
_ALSO_NOUNS = """change check cost count cover end fall help join lead limit look mark match name own point read
return run show sign start store use work""".split()
_DETERMINERS = "a an the its their no every each one all any it them nothing this that these those".split()
_NO_VERBS = {"access", "address", "alias", "always", "analysis", "basis", "bias", "bus", "canvas", "class", "lens",
             "process", "series", "status", "success", "towards", "others", "sometimes", "perhaps", "besides"}
_BARE = re.compile(r"(?:It|They)(?:'\w+)? \S|(?:This|That|These|Those)'\w+ ")
_POINTING = re.compile(r"(This|That|These|Those) ([a-z']+)\b(?!-)(?: (\w+))?")
_CLAUSE = re.compile(r"(?:What|Whatever|Whoever) \S")


def is_bare(text):
    """Whether a sentence begins with a pronoun in the place of a thing."""
    if _BARE.match(text):
        return True
    match = _POINTING.match(text)
    if not match:
        return False
    word, after = match.group(1), match.group(2)
    if after in _HELPERS:
        return True
    if word in ("These", "Those"):
        return after in _VERBS or after in _ADVERBS or after == "all" or (
            after in _ALSO_NOUNS and match.group(3) in _DETERMINERS)
    if after in _SINGULAR or after in ("alone", "also", "too"):
        return True
    if re.sub("(?<=ch)e?s$|s$", "", after) in _ALSO_NOUNS and match.group(3) in _DETERMINERS:
        return True
    return word == "This" and (after in _ADVERBS or after == "only" or (
        after.endswith("s") and not after.endswith(("ss", "us", "is")) and after not in _NO_VERBS))


def is_clause(text):
    """Whether a sentence that is no question begins with a clause in the place of a thing."""
    return bool(_CLAUSE.match(text))


def kinds_of(sentence):
    words = sentence.words if len(sentence.text.split()) > MOST_WORDS else 0
    if words > MOST_WORDS:
        yield "long", f"{words} words, at most {MOST_WORDS}: one claim a sentence"
    if is_bare(sentence.opening):
        yield "pronoun", "begins with a bare pronoun: name the thing"
    if is_clause(sentence.opening) and not sentence.is_question:
        yield "clause", "begins with a clause: name the thing"


def found_in(path, text):
    """(kind, why, first line, last line, text) of the sentences and titles of a file."""
    if path.endswith((".md",) + _CODE):
        for one in prose.sentences_of(path, text):
            for kind, why in kinds_of(one):
                yield kind, why, one.line, one.last_line, one.text
    if path.startswith("tests/") and path.endswith((".cc", ".py")):
        for line, title, words in prose.titles_of(path, text):
            if is_bare(words) or is_clause(words):
                yield "title", "begins with a bare pronoun or a clause: name the thing", line, line, title


def measure(root):
    """(words by page, found by file) of a checkout."""
    words, found = {}, {}
    for path in sources.list_files(root):
        if path in _GENERATED or path.startswith(_NOT_OURS) or not path.endswith((".md", ".py") + _CODE):
            continue
        text = sources.read(root / path)
        if text is None:
            continue
        if path == "README.md" or path.startswith("docs/") and path.endswith(".md"):
            words[path] = prose.words_of_page(text)
        hits = list(found_in(path, text))
        if hits:
            found[path] = hits
    return words, found


def _counts(found):
    return {path: dict(collections.Counter(hit[0] for hit in hits)) for path, hits in found.items()}


def _new_lines(root, path):
    """The lines that differ from the last commit, to name the sentences that are new; none if that is unknown."""
    if not (root / ".git").exists():
        return set()
    diff = subprocess.run(
        ["git", "-C", str(root), "diff", "-U0", "--no-color", "--no-ext-diff", "HEAD", "--", path],
        capture_output=True).stdout.decode(errors="replace")
    lines = set()
    for start, count in re.findall(r"^@@ -\S+ \+(\d+)(?:,(\d+))? @@", diff, re.MULTILINE):
        lines.update(range(int(start), int(start) + int(count or 1)))
    return lines


def _sentence_findings(root, path, hits, allowed):
    for kind in KINDS:
        these = [hit for hit in hits if hit[0] == kind]
        if len(these) <= allowed.get(kind, 0):
            continue
        new = _new_lines(root, path)
        these = [hit for hit in these if not new.isdisjoint(range(hit[2], hit[3] + 1))] or these
        for _, why, line, _, text in these:
            yield Finding(path, line, f"{kind}: {why} ({sum(hit[0] == kind for hit in hits)} in this file, the "
                                      f"baseline has {allowed.get(kind, 0)}): {text}")


def compare(root, budget, words, found):
    pages = budget["pages"]
    for page, count in words.items():
        if page not in pages:
            yield Finding(page, 1, f"words: a new page of {count} words needs its row in {BUDGET}")
        elif count > pages[page]:
            yield Finding(page, 1, f"words: {count}, the budget has {pages[page]}: cut, or change {BUDGET}")
    total = sum(words.values())
    if total > budget["total"]:
        yield Finding(BUDGET, 1, f"words: {total} in all pages, the budget has {budget['total']}: cut, or change "
                                 "the total")
    for path, hits in found.items():
        yield from _sentence_findings(root, path, hits, budget["sentences"].get(path, {}))


def lowered(budget, words, found):
    """The budget without what is no longer needed; without a budget, what the tree has."""
    now = _counts(found)
    if budget is None:
        return {"total": sum(words.values()), "pages": words, "sentences": now}
    sentences = {path: {kind: min(count, now.get(path, {}).get(kind, 0)) for kind, count in kinds.items()}
                 for path, kinds in budget["sentences"].items()}
    return {"total": min(budget["total"], sum(words.values())),
            "pages": {page: min(count, words[page]) for page, count in budget["pages"].items() if page in words},
            "sentences": sentences}


def text_of(budget):
    """The budget as JSON, with a line for each file, so that changes to two files can be merged."""
    def rows(name, table):
        lines = [f"    {json.dumps(key)}: {json.dumps(value)}" for key, value in sorted(table.items())]
        return f"  {json.dumps(name)}: {{\n" + ",\n".join(lines) + "\n  }"
    sentences = {path: {kind: kinds[kind] for kind in KINDS if kinds.get(kind)} for path, kinds in
                 budget["sentences"].items()}
    sentences = {path: kinds for path, kinds in sentences.items() if kinds}
    return (f'{{\n  "total": {budget["total"]},\n' + rows("pages", budget["pages"]) + ",\n" +
            rows("sentences", sentences) + "\n}\n")


def read_budget(root):
    return json.loads((root / BUDGET).read_text()) if (root / BUDGET).is_file() else None


def check(root):
    budget = read_budget(root)
    if budget is None:
        return [Finding(BUDGET, 1, "is missing (check_words.py --write)")]
    return list(compare(root, budget, *measure(root)))


def write(root):
    (root / BUDGET).write_text(text_of(lowered(read_budget(root), *measure(root))))


if __name__ == "__main__":
    if sys.argv[1:] == ["--write"]:
        write(sources.ROOT)
        sys.exit(sources.report(check(sources.ROOT)))
    sources.main(check)
