#!/usr/bin/env python3
"""Adds the paragraphs up: report.py OUT writes OUT/words.txt, the 20 most frequent longer words with bars."""
import collections
import glob
import os
import sys

out = sys.argv[1]
total = collections.Counter()
for name in glob.glob(os.path.join(out, "words-*.txt")):
    with open(name, encoding="utf-8") as file:
        for line in file:
            count, word = line.split()
            total[word] += int(count)
longer = [(n, w) for w, n in total.items() if len(w) > 4]
longer.sort(key=lambda pair: (-pair[0], pair[1]))
with open(os.path.join(out, "words.txt"), "w", encoding="utf-8") as file:
    file.write(f"{sum(total.values())} words, {len(total)} different; the most frequent of more than 4 letters:\n")
    for n, word in longer[:20]:
        file.write(f"{word:>16} {n:3} {'#' * (3 * n)}\n")
