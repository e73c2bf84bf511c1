# SPDX-License-Identifier: Apache-2.0
"""Reads prose for lint: the words and sentences of pages, the sentences of C++ comments, the titles of tests.

Code, URLs, drawings and headings are no sentences. Cells of tables and items of lists are read each for
itself, and a run of code spans ("`a`, `b` and `c`") counts as one word. A sentence ends at a full stop, a
question mark or an exclamation mark; abbreviations end none.
"""

import bisect
import dataclasses
import re

import sources

_FENCE = re.compile(r"[ \t>]*(?:(?:[-*+]|\d+[.)])[ \t]+)?(```+|~~~+)")
_SEPARATOR = re.compile(r"[ \t]*\|[ \t:|-]*-[ \t:|-]*")
_ITEM = re.compile(r"([ \t]*)((?:[-*+]|\d+[.)]|\([a-z0-9]\))[ \t]+)\S")
_REFERENCE = re.compile(r"[ \t]*\[[^\]]+\]:[ \t]")
_HTML_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_LONE_TAG = re.compile(r"[ \t]*</?[A-Za-z][^>]*>[ \t]*")
_BAR = re.compile(r"(?<!\\)\|")
_COLUMNS = re.compile(r"[^\s.!?] {2,}\S|\S {3,}\S|->.*->")

# Same length as what they stand for, so that places stay right.
_CODE, _HIDDEN = "\x01", "\x02"
_SPAN = re.compile(r"(`+)(?!`).+?(?<!`)\1(?!`)")
_TARGET = re.compile(r"\]\([^()\s]*(?:\([^()\s]*\)[^()\s]*)*(?: \"[^\"]*\")?\)")
_URL = re.compile(r"\b[a-z][a-z0-9+.-]*://[^\s|<>\")\]]*[^\s|<>\")\].,;:!?]")
_RUN_OF_CODE = re.compile(r"\x01+(?:(?:[,;/]|,? (?:and|or|to))? *\x01+)*")

_END = re.compile(r"[.!?]+[)\"'\]*_\x02]*(?=\s)")
_ABBREVIATION = re.compile(
    r"(?<![\w.])(?:e\.g|i\.e|cf|vs|resp|approx|incl|excl|ca|viz|a\.k\.a|Dr|Mr|Mrs|Ms|Prof|St)\.$")
_BEFORE_A_NUMBER = re.compile(
    r"(?<![\w.])(?:[Nn]os?|[Ss]ecs?|[Ss]ect|[Ff]igs?|[Aa]pp|[Cc]h|[Vv]ol|[Aa]rt|[Ee]q|pp?)\.$")
_BEFORE_LOWER_CASE = re.compile(r"(?:(?<![\w.])(?:etc|al)\.|\.\.\.)[)\"']*$")
_LABEL = re.compile(r"\s*\*\*[^*]+\*\*")  # "**Failed readers.** ...": a heading
_ERRORS = re.compile(r"Errors?\b[^:;]*: ")
_OPENING = re.compile(r"[\s\"'(\[*_]*")

_NOTE = re.compile(r" ?(?:SPDX-License-Identifier|long-file|long-function|multi-include|NOLINT\w*|clang-format)\b")
_TEST = re.compile(r"^[ \t]*(?:TYPED_)?TEST(?:_F|_P)?\(\s*\w+,\s*(\w+)\s*\)", re.MULTILINE)
_PYTHON_TEST = re.compile(r"^[ \t]*(?:async )?def test_(\w+)\(", re.MULTILINE)
_CAMEL = re.compile(r"[A-Z]+(?![a-z])|[A-Z][a-z]*|[a-z]+|\d+")


@dataclasses.dataclass(frozen=True)
class Sentence:
    line: int
    last_line: int
    text: str    # as it is written
    masked: str  # the same with code and URLs hidden

    @property
    def opening(self):
        return re.sub(r"[*_]+", "", self.masked[:60])

    @property
    def is_question(self):
        return self.text.rstrip("\"')*_").endswith("?")

    @property
    def words(self):
        """The words to be read at once: "Errors: a when ...; b when ..." is a list, so its longest item counts."""
        text = _RUN_OF_CODE.sub(_CODE, self.masked)
        return max(map(_count, text.split("; ") if _ERRORS.match(text) else [text]))


def _count(text):
    return sum(any(c.isalnum() or c == _CODE for c in word) for word in text.split())


def _mask(text):
    text = _SPAN.sub(lambda m: _CODE * len(m.group(0)), text)
    text = _TARGET.sub(lambda m: "]" + _HIDDEN * (len(m.group(0)) - 1), text)
    return _URL.sub(lambda m: _CODE * len(m.group(0)), text)


def _ends(before, after):
    """Whether a full stop at the end of `before` ends a sentence that `after` follows."""
    if _ABBREVIATION.search(before):
        return False
    if _BEFORE_A_NUMBER.search(before):
        return not re.match(r"[\d\x01]|[A-Z]\b", after)
    return not (_BEFORE_LOWER_CASE.search(before) and after[:1].islower())


def sentences(block):
    """The sentences of a block: a list of (line, text) that are read together."""
    text, starts, at = "", [], 0
    for _, part in block:
        starts.append(at)
        text += part.strip() + " "
        at = len(text)
    masked = _mask(text)
    begin = 0
    for end in [m.end() for m in _END.finditer(masked)] + [len(text)]:
        if end != len(text) and not _ends(masked[begin:end], masked[end:].lstrip()):
            continue
        first = begin + _OPENING.match(masked[begin:end]).end()
        if first < end and not _LABEL.fullmatch(masked[begin:end]):
            lines = [block[bisect.bisect_right(starts, place) - 1][0]
                     for place in (first, first + len(text[first:end].rstrip()) - 1)]
            yield Sentence(*lines, text[first:end].strip(), masked[first:end].strip())
        begin = end


class _Blocks:
    """Collects lines into blocks."""

    def __init__(self):
        self.all, self._open = [], []

    def add(self, line, text):
        self._open.append((line, text))

    def end(self):
        if self._open:
            self.all.append(self._open)
            self._open = []

    def alone(self, line, text):
        self.end()
        self.add(line, text)
        self.end()


def _prose_lines(page):
    """(number, line) of a page without fences, comments and rows of dashes; what was left out is a blank."""
    fence = ""
    page = _HTML_COMMENT.sub(lambda m: "\n" * m.group(0).count("\n"), page)
    for number, line in enumerate(page.split("\n"), 1):
        mark = _FENCE.match(line)
        if fence:
            if mark and mark.group(1).startswith(fence) and not line[mark.end():].strip():
                fence = ""
            line = ""
        elif mark and "`" not in line[mark.end():]:
            fence, line = mark.group(1), ""
        elif _SEPARATOR.fullmatch(line):
            line = ""
        yield number, line


def words_of_page(page):
    """The number of words outside of code fences; bars, bullets and other marks are no words."""
    return sum(_count(_BAR.sub(" ", line)) for _, line in _prose_lines(page))


def _page_blocks(page):
    blocks = _Blocks()
    lines = page.split("\n")
    for number, line in _prose_lines(page):
        line = line.lstrip("> \t") if line.lstrip().startswith(">") else line
        item = _ITEM.match(line)
        if not line.strip() or line.startswith("#") or _REFERENCE.match(line) or _LONE_TAG.fullmatch(line):
            blocks.end()
        elif line.lstrip().startswith("|"):
            blocks.end()
            is_head = number < len(lines) and _SEPARATOR.fullmatch(lines[number])
            for cell in _BAR.split(line) if not is_head else ():
                blocks.alone(number, cell)
        else:
            if item:
                blocks.end()
                line = line[item.end() - 1:]
            blocks.add(number, line)
    blocks.end()
    return blocks.all


def _comment_lines(text):
    """(line, column, whether code stands before it, text) of each line of each comment."""
    line, at = 1, 0
    for offset, comment in sources.comments(text):
        line += text.count("\n", at, offset)
        at = offset
        start = text.rfind("\n", 0, offset) + 1
        trails = bool(text[start:offset].strip())
        if comment.startswith("//"):
            yield line, offset - start, trails, re.sub(r"^//[/!]?<?", "", comment)
        else:
            for more, part in enumerate(comment[2:-2].split("\n")):
                yield line + more, offset - start, trails and not more, re.sub(r"^[ \t]*\*", "", part)


def _comment_blocks(text):
    blocks = _Blocks()
    last_line, last_column, margin = -1, -1, 0
    for line, column, trails, part in _comment_lines(text):
        if trails or line != last_line + 1 or column != last_column:
            blocks.end()
            margin = 3  # deeper than that it is a drawing or code, unless it continues an item
        last_line, last_column = line, column
        indent = len(part) - len(part.lstrip())
        item = _ITEM.match(part)
        if not part.strip() or _NOTE.match(part):
            blocks.end()
            margin = 3
        elif item:
            blocks.end()
            margin = indent + len(item.group(2)) + 1
            blocks.add(line, part[item.end() - 1:])
        elif indent >= margin:
            blocks.end()
        elif _COLUMNS.search(part):
            blocks.alone(line, part)
        else:
            blocks.add(line, part)
    blocks.end()
    return blocks.all


def sentences_of(path, text):
    """The sentences of a page, or of the comments of a C++ file."""
    blocks = _page_blocks(text) if path.endswith(".md") else _comment_blocks(text)
    return [sentence for block in blocks for sentence in sentences(block)]


def titles_of(path, text):
    """(line, title as written, its words) of the tests of a file."""
    pattern = _PYTHON_TEST if path.endswith(".py") else _TEST
    line, at = 1, 0
    for match in pattern.finditer(text):
        line += text.count("\n", at, match.start(1))
        at = match.start(1)
        words = " ".join(_CAMEL.findall(match.group(1))).lower().capitalize()
        yield line, " ".join(match.group(0).split()).rstrip("("), words
