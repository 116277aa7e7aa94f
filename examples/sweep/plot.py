#!/usr/bin/env python3
"""The table and the plot of a sweep: plot.py OUT writes OUT/sweep.csv and OUT/sweep.svg."""
import glob
import os
import sys

out = sys.argv[1]
rows = []
for name in glob.glob(os.path.join(out, "logistic-*.txt")):
    with open(name) as file:
        numbers = [float(text) for text in file.read().split()]
        rows.append((numbers[0], numbers[1:]))
rows.sort()
with open(os.path.join(out, "sweep.csv"), "w") as table:
    table.write("rate,period,least,most\n")
    for rate, values in rows:
        period = len(values) if len(values) < 100 else "chaos"
        table.write(f"{rate},{period},{values[0]},{values[-1]}\n")
width, height = 640, 400
low, high = rows[0][0], rows[-1][0]
with open(os.path.join(out, "sweep.svg"), "w") as plot:
    plot.write(f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" font-family="sans-serif">'
               f'<rect width="{width}" height="{height}" fill="white"/>'
               '<text x="20" y="20">x -> r x (1 - x): where it ends up, by r</text>')
    for rate, values in rows:
        x = 30 + (rate - low) / (high - low) * (width - 60)
        for value in values:
            plot.write(f'<circle cx="{x:.1f}" cy="{height - 20 - value * (height - 60):.1f}" r="1.2" fill="#06c"/>')
    plot.write("</svg>\n")
