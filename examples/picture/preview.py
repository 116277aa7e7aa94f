#!/usr/bin/env python3
"""A small preview of the picture for a terminal with colours: preview.py OUT."""
import os
import sys

WIDTH, HEIGHT, SIDE = 160, 120, 4
COLUMNS, ROWS = 64, 24  # characters; each shows two pixels, one above the other


def main():
    tiles = []
    for index in range(SIDE * SIDE):
        with open(os.path.join(sys.argv[1], f"tile-{index}.rgb"), "rb") as file:
            tiles.append(file.read())

    def pixel(x, y):
        at = (y % HEIGHT * WIDTH + x % WIDTH) * 3
        return tuple(tiles[y // HEIGHT * SIDE + x // WIDTH][at:at + 3])

    for row in range(ROWS):
        line = "  "
        for column in range(COLUMNS):
            x = column * WIDTH * SIDE // COLUMNS
            upper = pixel(x, 2 * row * HEIGHT * SIDE // (2 * ROWS))
            lower = pixel(x, (2 * row + 1) * HEIGHT * SIDE // (2 * ROWS))
            line += "\033[38;2;%d;%d;%dm\033[48;2;%d;%d;%dm\u2580" % (*upper, *lower)
        print(line + "\033[0m")


main()
