#!/usr/bin/env python3
"""Where the logistic map x -> r x (1 - x) ends up: logistic.py OUT INDEX RATE START."""
import os
import sys

out, index, rate, x = sys.argv[1], sys.argv[2], float(sys.argv[3]), float(sys.argv[4])
for _ in range(20000):
    x = rate * x * (1 - x)
orbit = []
for _ in range(200):
    x = rate * x * (1 - x)
    orbit.append(x)
values = sorted({round(v, 5) for v in orbit})
os.makedirs(out, exist_ok=True)
name = os.path.join(out, f"logistic-{index}.txt")
with open(f"{name}.{os.getpid()}", "w") as file:
    file.write(f"{rate} " + " ".join(str(v) for v in values) + "\n")
os.rename(f"{name}.{os.getpid()}", name)
