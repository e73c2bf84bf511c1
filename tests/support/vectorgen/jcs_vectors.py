# SPDX-License-Identifier: Apache-2.0
"""tests/vectors/jcs.json: canonical JSON and input that is refused."""
import base64

from reference import jcs

# RFC 8785 appendix B, and doubles around the borders of the ECMAScript layouts.
APPENDIX_B = {
    "0000000000000000": "0",
    "8000000000000000": "0",
    "0000000000000001": "5e-324",
    "8000000000000001": "-5e-324",
    "7fefffffffffffff": "1.7976931348623157e+308",
    "ffefffffffffffff": "-1.7976931348623157e+308",
    "4340000000000000": "9007199254740992",
    "c340000000000000": "-9007199254740992",
    "4430000000000000": "295147905179352830000",
    "44b52d02c7e14af5": "9.999999999999997e+22",
    "44b52d02c7e14af6": "1e+23",
    "44b52d02c7e14af7": "1.0000000000000001e+23",
    "444b1ae4d6e2ef4e": "999999999999999700000",
    "444b1ae4d6e2ef4f": "999999999999999900000",
    "444b1ae4d6e2ef50": "1e+21",
    "3eb0c6f7a0b5ed8c": "9.999999999999997e-7",
    "3eb0c6f7a0b5ed8d": "0.000001",
    "41b3de4355555553": "333333333.3333332",
    "41b3de4355555554": "333333333.33333325",
    "41b3de4355555555": "333333333.3333333",
    "41b3de4355555556": "333333333.3333334",
    "41b3de4355555557": "333333333.33333343",
    "becbf647612f3696": "-0.0000033333333333333333",
    "43143ff3c1cb0959": "1424953923781206.2",
}
MORE = {
    "3ff0000000000000": "1",
    "bff0000000000000": "-1",
    "3ff8000000000000": "1.5",
    "3fb999999999999a": "0.1",
    "3fd3333333333334": "0.30000000000000004",
    "4059000000000000": "100",
    "433fffffffffffff": "9007199254740991",
    "7ff0000000000000": None,
    "fff0000000000000": None,
    "7ff8000000000000": None,
    "7fffffffffffffff": None,
}

ACCEPT = [
    (b"{}", b"{}"), (b"[]", b"[]"), (b" \t\r\n[ ] ", b"[]"), (b"null", b"null"), (b"true", b"true"),
    (b"false", b"false"), (b'""', b'""'), (b"0", b"0"), (b"-0", b"0"), (b"-0.0", b"0"), (b"0e9", b"0"),
    (b"1.0", b"1"), (b"1e2", b"100"), (b"1E+2", b"100"), (b"100e-2", b"1"), (b"-1.50", b"-1.5"),
    (b"1e-7", b"1e-7"), (b"0.000001", b"0.000001"), (b"1e21", b"1e+21"), (b"1E30", b"1e+30"),
    (b"9007199254740991", b"9007199254740991"), (b"-9007199254740991", b"-9007199254740991"),
    (b"4503599627370495.5", b"4503599627370495.5"), (b"4503599627370497.5", b"4503599627370498"),
    (b"1e-400", b"0"), (b"5e-324", b"5e-324"),
    (b"1.7976931348623157e308", b"1.7976931348623157e+308"),
    (b'{"b":1,"a":2}', b'{"a":2,"b":1}'), (b'{"aa":1,"a":2,"":3,"A":4}', b'{"":3,"A":4,"a":2,"aa":1}'),
    (b'{"10":1,"2":2,"1":3}', b'{"1":3,"10":1,"2":2}'),
    # member order by UTF-16 units: U+1F600 (d83d de00) before U+FF21; UTF-8 order is the reverse
    ('{"\uff21":1,"\U0001f600":2}'.encode(), '{"\U0001f600":2,"\uff21":1}'.encode()),
    ('{"\u20ac":1,"\\r":2,"\ufb33":3,"1":4,"\U0001f600":5,"\\u0080":6,"\u00f6":7}'.encode(),
     '{"\\r":2,"1":4,"\u0080":6,"\u00f6":7,"\u20ac":1,"\U0001f600":5,"\ufb33":3}'.encode()),
    (b'{"a":{"d":[],"c":{}},"A":[{"z":1,"y":[3,1,2]}]}', b'{"A":[{"y":[3,1,2],"z":1}],"a":{"c":{},"d":[]}}'),
    (b'"\\u0000\\u0007\\u0008\\u0009\\u000a\\u000b\\u000c\\u000d\\u000e\\u001f"',
     b'"\\u0000\\u0007\\b\\t\\n\\u000b\\f\\r\\u000e\\u001f"'),
    (b'"\\u0022\\u005c\\u002f\\/"', b'"\\"\\\\//"'), (b'"\\u007F\\u0080"', '"\u007f\u0080"'.encode()),
    (b'"\\u2028\\u2029"', '"\u2028\u2029"'.encode()), (b'"\\ud83d\\ude00"', '"\U0001f600"'.encode()),
    (b'"\\uD83D\\uDE00"', '"\U0001f600"'.encode()), (b'"\\uFFFF\\uFDD0"', '"\uffff\ufdd0"'.encode()),
    ('"e\u0301 \u00e9"'.encode(), '"e\u0301 \u00e9"'.encode()), (b'"\\u00e9"', '"\u00e9"'.encode()),
    (b'{"\\u0061":1}', b'{"a":1}'), (b'"</script>"', b'"</script>"'),
    (b"[" * 64 + b"]" * 64, b"[" * 64 + b"]" * 64), (b'{"a":' * 64 + b"1" + b"}" * 64, b'{"a":' * 64 + b"1" + b"}" * 64),
    (b'[56,{"d":true,"10":null,"1":[]}]', b'[56,{"1":[],"10":null,"d":true}]'),
    (b"[333333333.33333329,1E30,4.50,2e-3,0.000000000000000000000000001]",
     b"[333333333.3333333,1e+30,4.5,0.002,1e-27]"),
]  # fmt: skip

REFUSE = [
    (b'{"a":1,"a":2}', "duplicate-key"), (b'{"a":1,"a":1}', "duplicate-key"), (b'{"a":1,"\\u0061":2}', "duplicate-key"),
    (b'{"x":{"a":1,"b":2,"a":3}}', "duplicate-key"), (b'[{"":1,"":2}]', "duplicate-key"),
    (b"NaN", "syntax"), (b"Infinity", "syntax"), (b"-Infinity", "syntax"), (b"nan", "syntax"), (b"inf", "syntax"),
    (b"1e400", "number-range"), (b"-1e400", "number-range"), (b"[1.8e308]", "number-range"),
    (b"9007199254740992", "integer-range"), (b"-9007199254740992", "integer-range"),
    (b"9007199254740993", "integer-range"), (b"18446744073709551615", "integer-range"),
    (b"18446744073709551616", "integer-range"), (b"1000000000000000000000", "integer-range"),
    (b"1E20", "integer-range"), (b"9007199254740992.0", "integer-range"), (b"-1e16", "integer-range"),
    (b'"\\ud800"', "surrogate"), (b'"\\udc00"', "surrogate"), (b'"\\ud800x"', "surrogate"),
    (b'"\\ude00\\ud83d"', "surrogate"), (b'"\\ud83d\\ud83d"', "surrogate"), (b'{"\\udfff":1}', "surrogate"),
    (b'"\xff"', "utf8"), (b'"\xc0\xaf"', "utf8"), (b'"\xed\xa0\x80"', "utf8"), (b'"\xf4\x90\x80\x80"', "utf8"),
    (b'"\xe2\x82"', "utf8"), (b'"\x80"', "utf8"), (b'{"\xc3\x28":1}', "utf8"),
    (b"", "syntax"), (b" ", "syntax"), (b"\xef\xbb\xbf{}", "syntax"), (b"{", "syntax"), (b"[1,]", "syntax"),
    (b"[,1]", "syntax"), (b'{"a":1,}', "syntax"), (b'{"a"}', "syntax"), (b'{"a":}', "syntax"), (b"{a:1}", "syntax"),
    (b"{'a':1}", "syntax"), (b"{1:1}", "syntax"), (b"[1 2]", "syntax"), (b"[1]]", "syntax"), (b"{}{}", "syntax"),
    (b"01", "syntax"), (b"-01", "syntax"), (b"+1", "syntax"), (b".5", "syntax"), (b"1.", "syntax"), (b"1.e1", "syntax"),
    (b"1e", "syntax"), (b"1e+", "syntax"), (b"-", "syntax"), (b"0x1", "syntax"), (b"1_0", "syntax"),
    (b"tru", "syntax"), (b"True", "syntax"), (b"nulll", "syntax"), (b"/**/1", "syntax"), (b"1//", "syntax"),
    (b'"', "syntax"), (b'"a', "syntax"), (b'"\\"', "syntax"), (b'"\\x41"', "syntax"), (b'"\\u12"', "syntax"),
    (b'"\\u12g4"', "syntax"), (b'"\\u 123"', "syntax"), (b'"\\u+123"', "syntax"), (b'"\t"', "syntax"), (b'"\n"', "syntax"),
    (b'"\x00"', "syntax"), (b'"\x1f"', "syntax"), (b"\x0c1", "syntax"), (b"\xc2\xa01", "syntax"), (b"1\x00", "syntax"),
    (b"[" * 65 + b"]" * 65, "depth"), (b'{"a":' * 64 + b"[]" + b"}" * 64, "depth"), (b"[" * 10000, "depth"),
    ("\uff11".encode(), "syntax"), ("\u0661".encode(), "syntax"),
]  # fmt: skip


def text(data):
    return base64.b64encode(data).decode()


def build():
    numbers = []
    for bits, want in {**APPENDIX_B, **MORE}.items():
        if want is None:
            try:
                jcs.number_from_bits(bits)
            except jcs.JsonError:
                numbers.append({"bits": bits, "want": "reject"})
                continue
            raise AssertionError(bits)
        assert jcs.number_from_bits(bits) == want, bits
        numbers.append({"bits": bits, "want": "accept", "text": want})
    for data, want in ACCEPT:
        assert jcs.canonicalize(data) == want, (data, jcs.canonicalize(data))
        assert jcs.canonicalize(want) == want, data
    for data, reason in REFUSE:
        try:
            jcs.loads(data)
        except jcs.JsonError as error:
            assert error.reason == reason, (data, error)
        else:
            raise AssertionError(data)
    return {
        "what": "RFC 8785. numbers: IEEE 754 bits of a double and its canonical text, for the "
        "writer. accept: input and its canonical form, base64, with input_text for people. refuse: "
        "input that the strict reader refuses (schemas/log.md section 1).",
        "source": "numbers: RFC 8785 appendix B and neighbours; the rest written for this project",
        "numbers": numbers,
        "accept": [{"input": text(data), "output": text(want), "input_text": ascii(data)[2:-1][:100]}
                   for data, want in ACCEPT],
        "refuse": [{"input": text(data), "reason": reason, "input_text": ascii(data)[2:-1][:100]}
                   for data, reason in REFUSE],
    }  # fmt: skip
