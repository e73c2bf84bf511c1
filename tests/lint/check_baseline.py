#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check_baseline.py PROGRAM...: the compiler put nothing into these programs that not every x86-64
processor has (System V ABI, AMD64 supplement, section 3.1.1: baseline). Code for more belongs into
a library that looks at the processor first."""
import re
import subprocess
import sys

# Instructions of x86-64-v2 and later, beside those with VEX or EVEX encoding, which begin with "v".
# tzcnt is left out: older processors read it as bsf, and GCC writes it where both give the same.
LATER = re.compile(
    r"v(?!err|erw|mcall|mfunc|mlaunch|mresume|mxoff)\w+"
    r"|popcnt|lzcnt|crc32|movbe|andn|bextr|blsi|blsr|blsmsk|bzhi|mulx|pdep|pext|rorx|sarx|shlx|shrx"
    r"|adcx|adox|aes\w+|sha(1|256)\w+|pclmul\w+|gf2p8\w+"
    r"|addsubp[sd]|haddp[sd]|hsubp[sd]|lddqu|mov(d|sh|sl)dup|fisttp\w*"
    r"|pshufb|palignr|pabs[bwd]|ph(add|sub)\w+|pmulhrsw|pmaddubsw|psign[bwd]"
    r"|p?blend\w+|dpp[sd]|extractps|insertps|mpsadbw|packusdw|pcmp(eqq|gtq|[ei]str[im])|pextr[bdq]"
    r"|phminposuw|pinsr[bdq]|pm(ax|in)(sb|sd|ud|uw)|pmov[sz]x\w+|pmuldq|pmulld|ptest|round[ps][sd]"
    r"|movntdqa|cmpxchg16b")
INSTRUCTION = re.compile(r"^\s*[0-9a-f]+:\t(?:(?:lock|rep|repz|repnz|data16|bnd|notrack|[c-gs]s)\s+)*([a-z]\w*)")


def check(program):
    """The first functions with later instructions, as text."""
    found = {}
    function = "?"
    listing = subprocess.Popen(["objdump", "-d", "--no-show-raw-insn", program],
                               stdout=subprocess.PIPE, text=True)
    for line in listing.stdout:
        if line.endswith(">:\n"):
            function = line.split("<", 1)[1][:-3]
        elif (match := INSTRUCTION.match(line)) and LATER.fullmatch(match[1]):
            found.setdefault(function, match[1])
    if listing.wait() != 0:
        sys.exit(f"objdump cannot read {program}")
    return [f"{program}: {name}: {instruction}" for name, instruction in found.items()]


def main():
    errors = [error for program in sys.argv[1:] for error in check(program)]
    print(*errors[:20], sep="\n")
    sys.exit(1 if errors else 0)


if __name__ == "__main__":
    main()
