#!/usr/bin/env python3
"""What a thousand clients that wait for news of campaigns cost the API, and everybody else.

    bench/listeners.py [--bin build/bin] [--listeners 1000] [--seconds 20] [--busy]

Starts a grid of its own with ten campaigns that stand still (--busy: and one whose tasks end all the
time), opens the listeners (GET /campaigns/N/progress?wait=), and prints the API's threads, memory and CPU
with and without them, and the 99th percentile of other requests as a ratio of both (page.md)."""
import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time

STILL = 10


async def ask(socket, path):
    reader, writer = await asyncio.open_unix_connection(socket)
    writer.write(f"GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
    answer = await reader.read(-1)
    writer.close()
    head, _, body = answer.partition(b"\r\n\r\n")
    return int(head.split()[1]), body


async def listen(socket, campaign, counts):
    seen = ""
    while True:
        status, body = await ask(socket, f"/campaigns/{campaign}/progress?wait=30000&seen={seen}")
        counts[status] = counts.get(status, 0) + 1
        if status != 200:
            await asyncio.sleep(1)
            continue
        seen = json.loads(body)["token"]


async def others(socket, seconds):
    """Milliseconds of requests one after the other."""
    took, end = [], time.monotonic() + seconds
    while time.monotonic() < end:
        began = time.monotonic()
        status, _ = await ask(socket, "/campaigns?limit=20")
        assert status == 200
        took.append((time.monotonic() - began) * 1000)
        await asyncio.sleep(0.02)
    return sorted(took)


def state_of(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        fields = dict(line.split(":", 1) for line in file)
    with open(f"/proc/{pid}/stat", encoding="ascii") as file:
        parts = file.read().rsplit(")", 1)[1].split()
    cpu = (int(parts[11]) + int(parts[12])) / os.sysconf("SC_CLK_TCK")
    return int(fields["Threads"]), int(fields["VmRSS"].split()[0]) / 1024, cpu


async def measure(socket, pid, seconds):
    _, _, before = state_of(pid)
    took = await others(socket, seconds)
    threads, memory, after = state_of(pid)
    return {"threads": threads, "memory_mb": memory, "cpu": (after - before) / seconds,
            "p99_ms": took[int(len(took) * 0.99)], "requests": len(took)}


async def run(socket, pid, campaigns, arguments):
    without = await measure(socket, pid, arguments.seconds)
    counts = {}
    tasks = [asyncio.create_task(listen(socket, campaigns[i % len(campaigns)], counts))
             for i in range(arguments.listeners)]
    await asyncio.sleep(5)
    counts.clear()
    with_them = await measure(socket, pid, arguments.seconds)
    for task in tasks:
        task.cancel()
    print(f"{'':10} {'threads':>8} {'memory':>9} {'CPU':>7} {'p99 of others':>14}")
    for name, row in (("without", without), ("listeners", with_them)):
        print(f"{name:10} {row['threads']:8} {row['memory_mb']:6.1f} MB {row['cpu']:6.1%} "
              f"{row['p99_ms']:11.1f} ms")
    print(f"{arguments.listeners} listeners: {with_them['memory_mb'] - without['memory_mb']:.1f} MB "
          f"and {with_them['cpu'] - without['cpu']:.1%} of a core more; p99 of others "
          f"{with_them['p99_ms'] / without['p99_ms']:.2f} times; answers {counts}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    here = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    parser.add_argument("--bin", default=os.path.join(here, "build", "bin"))
    parser.add_argument("--listeners", type=int, default=1000)
    parser.add_argument("--seconds", type=int, default=20)
    parser.add_argument("--busy", action="store_true", help="one campaign's tasks end all the time")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="listeners-") as home:
        os.chmod(home, 0o755)
        environment = {**os.environ, "CIGRI_HOME": home + "/grid",
                       "PATH": os.path.abspath(arguments.bin) + ":" + os.environ["PATH"]}

        def tool(*words):
            return subprocess.run(words, env=environment, check=True, capture_output=True,
                                  text=True, cwd=home).stdout
        tool("cigri", "up", "--embedded", "--slots", "alpha=12,beta=2")
        try:
            campaigns = [int(tool("gridsub", "-q", "--", "sleep", "{}", ":::", "600"))
                         for _ in range(STILL)]
            if arguments.busy:
                values = home + "/values"
                with open(values, "w", encoding="ascii") as file:
                    file.writelines(f"{i}\n" for i in range(5000))
                campaigns.append(int(tool("gridsub", "-q", "-a", values, "--", "sleep", "0.2")))
            pid = int(next(line.split()[1] for line in tool("cigri", "status").splitlines()
                           if line.split()[:1] == ["api"]))
            asyncio.run(run(home + "/grid/run/api.sock", pid, campaigns, arguments))
        finally:
            subprocess.run(["cigri", "down"], env=environment, stdout=subprocess.DEVNULL, check=False)


if __name__ == "__main__":
    sys.exit(main())
