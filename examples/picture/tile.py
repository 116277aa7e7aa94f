#!/usr/bin/env python3
"""Renders one of 16 tiles of the Mandelbrot set: tile.py OUT INDEX.

The tile is written under a temporary name and renamed when it is whole: a job may be killed at any
moment (best-effort) and run again elsewhere, and nobody ever sees half a tile.
"""
import os
import sys

WIDTH, HEIGHT, SIDE = 160, 120, 4  # of a tile, in pixels; tiles a row
CENTRE, SPAN = complex(-0.743643, 0.131826), 0.0065
STEPS = 220


def colour(n):
    if n == STEPS:
        return b"\0\0\0"
    t = n / STEPS
    return bytes((int(9 * (1 - t) * t**3 * 255), int(15 * (1 - t) ** 2 * t**2 * 255),
                  int(8.5 * (1 - t) ** 3 * t * 255)))


def escape(c):
    z = 0j
    for n in range(STEPS):
        if z.real * z.real + z.imag * z.imag > 4:
            return n
        z = z * z + c
    return STEPS


def render(index):
    left, top = index % SIDE * WIDTH, index // SIDE * HEIGHT
    scale = SPAN / (WIDTH * SIDE)
    pixels = bytearray()
    for y in range(top, top + HEIGHT):
        for x in range(left, left + WIDTH):
            offset = complex((x - WIDTH * SIDE / 2) * scale, (y - HEIGHT * SIDE / 2) * scale)
            pixels += colour(escape(CENTRE + offset))
    return bytes(pixels)


def main():
    out, index = sys.argv[1], int(sys.argv[2])
    os.makedirs(out, exist_ok=True)
    name = os.path.join(out, f"tile-{index}.rgb")
    temporary = f"{name}.{os.getpid()}"
    with open(temporary, "wb") as file:
        file.write(render(index))
    os.rename(temporary, name)
    # The job's own record of having run to its end: one line, appended whole. Then it ends at once:
    # killed while Python puts things away it would have two, for it runs again.
    with open(os.path.join(out, "ran.txt"), "a") as record:
        record.write(f"{index}\n")
    os._exit(0)


main()
