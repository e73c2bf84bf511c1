# SPDX-License-Identifier: Apache-2.0
"""A structural reading of C++ for lint: statements, lambdas, braced initialisers, function bodies.

It knows no types and expands no macro: enough to find forms, not to compile. Preprocessor lines are
skipped, so code whose braces balance only under one #if branch may be misread.
"""

import dataclasses
import re

import sources

_TOKEN = re.compile(r"\w+|::|->|&&|\|\||\S")
_TYPES = {"namespace", "struct", "class", "enum", "union", "extern"}
_ACCESS = {"public", "protected", "private"}
_AFTER_PARAMETERS = {"const", "noexcept", "override", "final", "mutable", "volatile", "try", "&", "&&"}
_AFTER_CAPTURES = {"(", "{", "<", "->", "mutable", "noexcept", "constexpr", "static"}
_BEFORE_LAMBDA = {"return", "co_return", "co_await", "co_yield", "case", "else", "do"}


@dataclasses.dataclass(frozen=True)
class Token:
    text: str
    line: int
    depth: int = 0          # of brackets inside its statement
    captures: tuple = None  # of a lambda introducer, whose text is "[]"


@dataclasses.dataclass(frozen=True)
class Function:
    first_line: int
    last_line: int

    @property
    def lines(self):
        return self.last_line - self.first_line + 1


def tokenize(text):
    text = sources.blank_comments(text, strings=True)
    text = re.sub(r"^[ \t]*#(?:[^\n\\]|\\.|\\\n)*", lambda m: "\n" * m.group(0).count("\n"), text,
                  flags=re.MULTILINE | re.DOTALL)
    tokens = []
    for number, line in enumerate(text.split("\n"), 1):
        tokens += [Token(t, number) for t in _TOKEN.findall(line)]
    return tokens


class Reader:
    """Reads one file. `statements` are lists of Token; the body of a lambda is not part of the
    statement that holds it (it has statements of its own), a braced initialiser is."""

    def __init__(self, text):
        self.tokens = tokenize(text)
        self.statements = []
        self.functions = []
        at = 0
        while at < len(self.tokens):
            at = self._block(at, in_code=False)

    def _text(self, at):
        return self.tokens[at].text if at < len(self.tokens) else ""

    def _flush(self, statement):
        if statement:
            self.statements.append(list(statement))
            statement.clear()

    def _block(self, at, in_code):
        """Reads statements up to the brace that closes the block; the place behind it."""
        statement = []
        while at < len(self.tokens):
            text = self._text(at)
            if text == "}":
                self._flush(statement)
                return at + 1
            is_label = text == ":" and len(statement) == 1 and statement[0].text in _ACCESS
            if text == ";" or is_label:
                self._flush(statement)
                at += 1
            elif text == "{" and _opens_block(statement):
                at = self._nested_block(at, statement, in_code)
            else:
                at = self._piece(at, statement, 0)
        self._flush(statement)
        return at

    def _nested_block(self, at, statement, in_code):
        declares = _declares_type(statement)
        first = statement[0].line if statement else self.tokens[at].line
        is_function = not in_code and not declares and bool(statement)
        self._flush(statement)
        end = self._block(at + 1, in_code or not declares)
        if is_function:
            self.functions.append(Function(first, self.tokens[end - 1].line))
        return end

    def _piece(self, at, statement, depth):
        """Appends one token, or one whole bracketed group, to the statement."""
        token = self.tokens[at]
        if token.text == "[" and self._starts_lambda(at, statement):
            return self._lambda(at, statement, depth)
        statement.append(dataclasses.replace(token, depth=depth))
        if token.text not in "([{" or len(token.text) != 1:
            return at + 1
        close = {"(": ")", "[": "]", "{": "}"}[token.text]
        at += 1
        while at < len(self.tokens) and self._text(at) != close:
            if self._text(at) in (")", "]", "}"):
                return at  # unbalanced: let the caller close it
            at = self._piece(at, statement, depth + 1)
        if at < len(self.tokens):
            statement.append(dataclasses.replace(self.tokens[at], depth=depth))
        return at + 1

    def _match(self, at, opening, closing):
        depth = 0
        while at < len(self.tokens):
            depth += (self._text(at) == opening) - (self._text(at) == closing)
            if depth == 0:
                return at
            at += 1
        return at

    def _starts_lambda(self, at, statement):
        if self._text(at + 1) == "[":
            return False  # attribute
        before = [t.text for t in statement[-2:]]
        if before and (before[-1] in (")", "]", "[]", '"') or
                       re.fullmatch(r"\w+", before[-1]) and before[-1] not in _BEFORE_LAMBDA):
            return False  # subscript or array
        if len(before) == 2 and before[1] in ("&", "&&") and before[0] in ("auto", "const"):
            return False  # structured binding
        return self._text(self._match(at, "[", "]") + 1) in _AFTER_CAPTURES

    def _lambda(self, at, statement, depth):
        end = self._match(at, "[", "]")
        captures = tuple(t.text for t in self.tokens[at + 1:end])
        statement.append(Token("[]", self.tokens[at].line, depth, captures))
        at = end + 1
        while at < len(self.tokens) and self._text(at) not in ("{", ";", "}", ")"):
            at = self._piece(at, statement, depth + 1)
        if self._text(at) != "{":
            return at
        return self._block(at + 1, in_code=True)


def _top(statement):
    return [t.text for t in statement if t.depth == 0]


def _without_template_head(texts):
    while texts[:2] == ["template", "<"]:
        depth = 0
        for end, text in enumerate(texts):
            depth += (text == "<") - (text == ">")
            if text == ">" and depth == 0:
                break
        texts = texts[end + 1:]
    return texts


def _declares_type(statement):
    texts = _without_template_head(_top(statement))
    if not _TYPES.intersection(texts):
        return False
    return not texts or (texts[-1] != ")" and texts[-1] not in _AFTER_PARAMETERS - {"final"} and
                         not _has_trailing_type(texts))


def _has_trailing_type(texts):
    """Whether `) ... -> type` ends the statement: the head of a function."""
    if ")" not in texts or "=" in texts or texts[0] in ("return", "co_return", "co_await"):
        return False
    tail = texts[len(texts) - texts[::-1].index(")"):]
    return "->" in tail


def _opens_block(statement):
    if not statement:
        return True
    texts = _without_template_head(_top(statement))
    if not texts:
        return True
    last = texts[-1]
    if last in (")", "else", "do", "try", ":") or last == "}" and ":" in texts:
        return True
    if last in _AFTER_PARAMETERS and "=" not in texts:
        return True
    if _TYPES.intersection(texts) and "=" not in texts and "return" not in texts:
        return True
    return _has_trailing_type(texts)

