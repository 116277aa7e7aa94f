#!/usr/bin/env python3
"""Puts the 16 tiles together: assemble.py OUT writes OUT/picture.png. The campaign's epilogue."""
import os
import struct
import sys
import zlib

WIDTH, HEIGHT, SIDE = 160, 120, 4


def chunk(kind, data):
    body = kind + data
    return struct.pack(">I", len(data)) + body + struct.pack(">I", zlib.crc32(body))


def main():
    out = sys.argv[1]
    tiles = []
    for index in range(SIDE * SIDE):
        with open(os.path.join(out, f"tile-{index}.rgb"), "rb") as file:
            tiles.append(file.read())
    rows = bytearray()
    for y in range(HEIGHT * SIDE):
        rows.append(0)  # PNG: no filter on this line
        for x in range(SIDE):
            at = y % HEIGHT * WIDTH * 3
            rows += tiles[y // HEIGHT * SIDE + x][at:at + WIDTH * 3]
    png = (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", WIDTH * SIDE, HEIGHT * SIDE, 8, 2, 0, 0, 0))
           + chunk(b"IDAT", zlib.compress(bytes(rows), 6)) + chunk(b"IEND", b""))
    name = os.path.join(out, "picture.png")
    temporary = f"{name}.{os.getpid()}"  # each cluster has an epilogue
    with open(temporary, "wb") as file:
        file.write(png)
    os.rename(temporary, name)


main()
