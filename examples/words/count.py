#!/usr/bin/env python3
"""Counts the words of one paragraph: count.py OUT PARAGRAPH (from 1). Writes OUT/words-N.txt, whole or not at all."""
import collections
import os
import re
import sys

out, number = sys.argv[1], int(sys.argv[2])
here = os.path.dirname(os.path.abspath(__file__))
with open(os.path.join(here, "declaration.txt"), encoding="utf-8") as file:
    paragraph = file.read().split("\n\n")[number - 1]
words = collections.Counter(re.findall(r"[a-z]+(?:'[a-z]+)?", paragraph.lower()))
os.makedirs(out, exist_ok=True)
name = os.path.join(out, f"words-{number}.txt")
with open(f"{name}.{os.getpid()}", "w", encoding="utf-8") as file:
    file.writelines(f"{count} {word}\n" for word, count in words.items())
os.rename(f"{name}.{os.getpid()}", name)
