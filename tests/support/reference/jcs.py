# SPDX-License-Identifier: Apache-2.0
"""Strict JSON reader and JSON Canonicalization Scheme (RFC 8785).

The reader takes what I-JSON (RFC 7493) allows and refuses the rest: duplicate member names, NaN
and infinities, lone surrogates, invalid UTF-8, and integers beyond 2^53 - 1 in either direction.

    python3 jcs.py FILE        write the canonical form of FILE (- for standard input) to stdout
"""
import math
import struct
import sys

MAX_INTEGER = 2**53 - 1  # RFC 7493 section 2.2
MAX_DEPTH = 64  # arrays and objects inside each other (schemas/log.md section 1)


class JsonError(ValueError):
    """Input that is refused; `reason` is one short stable word for tests."""

    def __init__(self, reason, detail=""):
        super().__init__(reason + (": " + detail if detail else ""))
        self.reason = reason


# --- reading (RFC 8259 grammar, RFC 7493 restrictions) ---------------------------------------


def loads(data):
    """Parse bytes into dict, list, str, int, float, True, False or None."""
    try:
        text = bytes(data).decode("utf-8", "strict")  # RFC 7493 section 2.1
    except UnicodeDecodeError as error:
        raise JsonError("utf8", str(error)) from None
    reader = _Reader(text)
    reader.skip_space()
    value = reader.value(0)
    reader.skip_space()
    if reader.position != len(text):
        raise JsonError("syntax", "text after the value")
    return value


class _Reader:
    """Recursive descent over RFC 8259 sections 2 to 7."""

    def __init__(self, text):
        self.text = text
        self.position = 0

    def peek(self):
        return self.text[self.position] if self.position < len(self.text) else ""

    def skip_space(self):
        while self.peek() and self.peek() in " \t\n\r":
            self.position += 1

    def expect(self, token):
        if not self.text.startswith(token, self.position):
            raise JsonError("syntax", f"expected {token!r} at {self.position}")
        self.position += len(token)

    def value(self, depth):
        first = self.peek()
        if depth >= MAX_DEPTH and first in ("{", "["):
            raise JsonError("depth")
        if first == "{":
            return self.object(depth)
        if first == "[":
            return self.array(depth)
        if first == '"':
            return self.string()
        for word, meaning in (("true", True), ("false", False), ("null", None)):
            if self.text.startswith(word, self.position):
                self.position += len(word)
                return meaning
        return self.number()

    def object(self, depth):
        members = {}
        self.expect("{")
        self.skip_space()
        if self.peek() == "}":
            self.position += 1
            return members
        while True:
            self.skip_space()
            name = self.string()
            if name in members:  # RFC 7493 section 2.3
                raise JsonError("duplicate-key", repr(name))
            self.skip_space()
            self.expect(":")
            self.skip_space()
            members[name] = self.value(depth + 1)
            self.skip_space()
            if self.peek() != ",":
                break
            self.position += 1
        self.expect("}")
        return members

    def array(self, depth):
        items = []
        self.expect("[")
        self.skip_space()
        if self.peek() == "]":
            self.position += 1
            return items
        while True:
            self.skip_space()
            items.append(self.value(depth + 1))
            self.skip_space()
            if self.peek() != ",":
                break
            self.position += 1
        self.expect("]")
        return items

    def string(self):
        self.expect('"')
        units = []
        while True:
            char = self.peek()
            if char == "":
                raise JsonError("syntax", "string without end")
            self.position += 1
            if char == '"':
                break
            if ord(char) < 0x20:
                raise JsonError("syntax", "control character in a string")
            units.append(self.escape() if char == "\\" else char)
        try:  # escaped surrogate pairs become one character; a lone one cannot
            return "".join(units).encode("utf-16-le", "surrogatepass").decode("utf-16-le", "strict")
        except UnicodeDecodeError:
            raise JsonError("surrogate") from None

    def escape(self):
        char = self.peek()
        self.position += 1
        simple = {'"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
        if char in simple and char:
            return simple[char]
        digits = self.text[self.position : self.position + 4]
        if char != "u" or len(digits) != 4 or any(d not in "0123456789abcdefABCDEF" for d in digits):
            raise JsonError("syntax", "bad escape")
        self.position += 4
        return chr(int(digits, 16))

    def digits(self):
        start = self.position
        while self.peek() and self.peek() in "0123456789":
            self.position += 1
        if start == self.position:
            raise JsonError("syntax", f"expected a digit at {start}")

    def number(self):
        start = self.position
        if self.peek() == "-":
            self.position += 1
        if self.peek() == "0":
            self.position += 1
        else:
            self.digits()
        is_integer = True
        if self.peek() == ".":
            is_integer = False
            self.position += 1
            self.digits()
        if self.peek() and self.peek() in "eE":
            is_integer = False
            self.position += 1
            if self.peek() and self.peek() in "+-":
                self.position += 1
            self.digits()
        token = self.text[start : self.position]
        if is_integer:
            if len(token) > 17 or abs(int(token)) > MAX_INTEGER:
                raise JsonError("integer-range", token[:40])
            return int(token)
        number = float(token)
        if math.isinf(number):
            raise JsonError("number-range", token[:40])
        # A float that the canonical form would spell as a plain integer beyond the limit, such as
        # 1E20: refused as well, so that canonical output can always be read again.
        if MAX_INTEGER < abs(number) < 1e21:
            raise JsonError("integer-range", token[:40])
        return number


# --- writing (RFC 8785) ----------------------------------------------------------------------


def dumps(value):
    """Canonical UTF-8 bytes of a value: RFC 8785 section 3.2."""
    return _serialize(value).encode("utf-8", "strict")


def canonicalize(data):
    """Canonical form of JSON text given as bytes."""
    return dumps(loads(data))


def _serialize(value):
    if value is None:
        return "null"
    if value is True:
        return "true"
    if value is False:
        return "false"
    if isinstance(value, str):
        return quote(value)
    if isinstance(value, int):
        if abs(value) > MAX_INTEGER:
            raise JsonError("integer-range", str(value))
        return str(value)
    if isinstance(value, float):
        return number(value)
    if isinstance(value, (list, tuple)):
        return "[" + ",".join(_serialize(item) for item in value) + "]"
    if isinstance(value, dict):
        names = sorted(value, key=utf16_key)
        return "{" + ",".join(quote(name) + ":" + _serialize(value[name]) for name in names) + "}"
    raise TypeError(type(value))


def utf16_key(name):
    """RFC 8785 section 3.2.3: names sort as arrays of UTF-16 code units."""
    try:
        return name.encode("utf-16-be", "strict")
    except UnicodeEncodeError:
        raise JsonError("surrogate") from None


def quote(text):
    """RFC 8785 section 3.2.2.2: string literals."""
    short = {8: "\\b", 9: "\\t", 10: "\\n", 12: "\\f", 13: "\\r", 0x22: '\\"', 0x5C: "\\\\"}
    out = ['"']
    for char in text:
        code = ord(char)
        if 0xD800 <= code <= 0xDFFF:
            raise JsonError("surrogate")
        if code in short:
            out.append(short[code])
        elif code < 0x20:
            out.append(f"\\u{code:04x}")
        else:
            out.append(char)
    out.append('"')
    return "".join(out)


def number(value):
    """RFC 8785 section 3.2.2.3, which is ECMAScript Number::toString with radix 10.

    Python's repr gives the shortest digits that read back to the same double, which are the
    digits ECMAScript asks for; only their layout differs.
    """
    if math.isnan(value) or math.isinf(value):
        raise JsonError("number-range", repr(value))
    if value == 0:
        return "0"  # -0 as well
    if value < 0:
        return "-" + number(-value)
    mantissa, _, exponent = repr(value).partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + fraction).lstrip("0")
    # value = 0.digits * 10^n, n as in the ECMAScript text
    n = int(exponent or 0) + (len(whole) if whole != "0" else len(digits) - len(fraction))
    digits = digits.rstrip("0")
    k = len(digits)
    if k <= n <= 21:
        return digits + "0" * (n - k)
    if 0 < n <= 21:
        return digits[:n] + "." + digits[n:]
    if -6 < n <= 0:
        return "0." + "0" * (-n) + digits
    head = digits[0] + ("." + digits[1:] if k > 1 else "")
    return f"{head}e{'+' if n > 0 else '-'}{abs(n - 1)}"


def number_from_bits(hex_bits):
    """RFC 8785 appendix B names doubles by their 16 hexadecimal digits."""
    return number(struct.unpack(">d", bytes.fromhex(hex_bits))[0])


def main(argv):
    if len(argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    try:
        if argv[1] == "-":
            data = sys.stdin.buffer.read()
        else:
            with open(argv[1], "rb") as stream:
                data = stream.read()
        sys.stdout.buffer.write(canonicalize(data))
    except JsonError as error:
        print(f"jcs: refused: {error}", file=sys.stderr)
        return 1
    except OSError as error:
        print(f"jcs: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
