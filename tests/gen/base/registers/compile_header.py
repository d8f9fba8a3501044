"""Asks a C compiler what it makes of a generated header."""

import json
import subprocess

from gen.base.registers.header import c_header

PRINTED = """
#include <stddef.h>
#include <stdio.h>
#include "{name}.h"
int main(void) {{
    printf("{{");
{lines}
    printf("\\"size\\": %zu}}\\n", sizeof({name}_t));
    return 0;
}}
"""
LINE = '    printf("\\"{key}\\": [%llu, %llu, %d, %d, %llu], ", {values});'
C_WORDS = {"int", "double", "enum", "signed", "register", "switch"}


def compile_header(map, folder, compiler="gcc", standard="c11"):
    """Return fields as the header has them: place, address, lowest bit, bits, reset."""
    (folder / f"{map.name}.h").write_text(c_header(map))
    lines = []
    for register in map.registers:
        member = f"{register.name}_" if register.name in C_WORDS else register.name
        prefix = f"{map.name}__{register.name}".upper()
        for field in register.fields:
            macro = f"{prefix}__{field.name}".upper()
            values = [
                f"(unsigned long long)offsetof({map.name}_t, {member})",
                f"(unsigned long long){prefix}_address",
                f"{macro}_bp",
                f"{macro}_bw",
                f"(unsigned long long){macro}_bm",
            ]
            lines.append(LINE.format(key=field.name, values=", ".join(values)))
    source = folder / ("show.c" if compiler == "gcc" else "show.cpp")
    source.write_text(PRINTED.format(name=map.name, lines="\n".join(lines)))
    program = folder / "show"
    flags = [f"-std={standard}", "-pedantic", "-Wall", "-Wextra", "-Werror", "-O0"]
    subprocess.run([compiler, *flags, source, "-o", program], check=True, timeout=60)
    return json.loads(subprocess.run([program], check=True, capture_output=True).stdout)
