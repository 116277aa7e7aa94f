#!/usr/bin/env python3
"""What readers feel while 200 users submit 50 campaigns each and 200 clients poll.

Usage: bench/crowd.py [--users 200] [--campaigns 50] [--tasks 10] [--clients 200] [--slots 64]

As root: a grid of `cigri up` with one local cluster, whose jobs run as nobody. Idle, one client asks
for the first twenty campaigns, for one of them or for its progress, 2,000 times, while the cluster is
drained: the page is as long as in the crowd. Then the users submit and `--clients` ask for the same,
one of them a second each and not all at once, until every job has ended. Prints the 99th percentile
of both and their ratio (asked: at most 5), how it would be against a page of one campaign, and how
many jobs the grid recorded.
"""
import argparse
import http.client
import itertools
import json
import math
import multiprocessing
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time

ASKED = 5
BIN = pathlib.Path(os.environ.get("CIGRI_BIN", pathlib.Path(__file__).parents[1] / "build/bin"))


class Api(http.client.HTTPConnection):
    """The API as one user, whom we name as a proxy would."""

    def __init__(self, path, user):
        super().__init__("grid", timeout=120)
        self.path, self.user = path, user

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)

    def ask(self, method, what, body=None):
        """The answer, and how many seconds it took."""
        headers = {"X-Cigri-User": self.user, "Content-Type": "application/json"}
        began = time.perf_counter()
        try:
            self.request(method, what, body and json.dumps(body), headers)
            answer = self.getresponse()
        except (http.client.RemoteDisconnected, BrokenPipeError, ConnectionResetError):
            self.close()  # a kept connection has a time, too
            self.request(method, what, body and json.dumps(body), headers)
            answer = self.getresponse()
        text = answer.read()
        took = time.perf_counter() - began
        if answer.status >= 300:
            raise RuntimeError(f"{method} {what}: {answer.status} {text[:300]}")
        return json.loads(text), took


def read(api, campaign, turn):
    """One of the things that gridstat asks for; how many seconds it took."""
    what = ("/campaigns?limit=20", f"/campaigns/{campaign}", f"/campaigns/{campaign}/progress")
    return api.ask("GET", what[turn % 3])[1]


def p99(seconds):
    return sorted(seconds)[int(len(seconds) * 0.99)]


class Grid:
    """A grid of its own, gone when the measure ends."""

    def __init__(self, slots):
        self.slots = slots

    def __enter__(self):
        self.home = tempfile.mkdtemp(prefix="cigri-crowd.")
        os.chmod(self.home, 0o755)
        conf = pathlib.Path(self.home, "cigri.conf")
        conf.write_text('API_TRUSTED_PROXY = "unix:root"\n')
        self.environment = {"CIGRI_HOME": self.home, "CIGRICONFFILE": str(conf), "HOME": "/root",
                            "PATH": f"{BIN}:/usr/bin:/bin:/usr/sbin:/sbin", "LANG": "C.UTF-8"}
        self.run("cigri", "up", "--embedded", "--slots", f"here={self.slots}")
        return self

    def __exit__(self, *_):
        self.run("cigri", "down")
        shutil.rmtree(self.home)

    def run(self, *words):
        return subprocess.run(words, env=self.environment, check=True, text=True,
                              stdout=subprocess.PIPE, cwd="/", executable=BIN / words[0]).stdout

    def api(self, user):
        return Api(self.home + "/run/api.sock", user)


def campaign_of(api, name, tasks):
    """The id of a new one."""
    return api.ask("POST", "/campaigns",
                   {"name": name, "exec_file": "true", "nb_jobs": tasks, "exec_directory": "/tmp",
                    "clusters": {"here": {}}})[0]["id"]


def submit(grid, users, options, refused):
    """In a process of its own: a thread would make the readers of this one wait for Python."""
    for user in users:
        api = grid.api(user)
        for _ in range(options.campaigns):
            try:
                campaign_of(api, "crowd", options.tasks)
            except Exception as error:  # pylint: disable=broad-except
                refused.put(str(error))


def poll(grid, user, campaign, over, took, errors, phase):
    """Every second by the clock: who waits a second after each answer is soon in step with all
    others whom the same stall has kept."""
    api, due = grid.api(user), time.perf_counter() + phase
    for turn in itertools.count(int(1000 * phase)):
        over.wait(max(0.0, due - time.perf_counter()))
        if over.is_set():
            return
        began = time.perf_counter()
        try:
            took.append((began, read(api, campaign, turn)))
        except Exception as error:  # pylint: disable=broad-except
            errors.append(str(error))
            api.close()
        due += max(1, math.ceil(time.perf_counter() - due))


def go_first():
    """Clients have machines of their own: here they wait for no processor that the grid uses."""
    os.setpriority(os.PRIO_PROCESS, 0, -15)
    group = pathlib.Path("/proc/self/autogroup")
    if group.exists():
        group.write_text("-15")


def measure(grid, options):
    go_first()
    users = [f"user{i:03}" for i in range(options.users)]
    for user in users:
        grid.api("root").ask("PUT", "/admin/mapping",
                             {"user": user, "cluster": "here", "login": "nobody"})
    first = {user: campaign_of(grid.api(user), "first", 1) for user in users}
    api, root = grid.api(users[0]), grid.api("root")
    while api.ask("GET", "/campaigns?limit=1")[0]["items"]:
        time.sleep(0.2)
    root.ask("POST", "/admin/drain", {"cluster": "here", "reason": "the grid is idle"})
    idle = {}
    for more, at_work in ((1, 1), (19, 20)):
        for _ in range(more):
            campaign_of(api, "idle", options.tasks)
        time.sleep(3)
        idle[at_work] = p99([read(api, first[users[0]], turn) for turn in range(2000)])
    root.ask("POST", "/admin/resume", {"cluster": "here"})

    over, took, errors = threading.Event(), [], []
    threads = [threading.Thread(target=poll, args=(grid, users[i % len(users)],
                                                   first[users[i % len(users)]], over, took, errors,
                                                   i / options.clients))
               for i in range(options.clients)]
    refused = multiprocessing.Queue()
    submitters = [multiprocessing.Process(target=submit, args=(grid, users[i::8], options, refused))
                  for i in range(8)]
    began = time.monotonic()
    for one in submitters + threads:  # processes first: a fork copies one thread only
        one.start()
    for process in submitters:
        while process.exitcode is None or not refused.empty():
            while not refused.empty():
                errors.append(refused.get())
            process.join(0.1)
    submitted, until = time.monotonic() - began, time.perf_counter()
    want = options.users * (options.campaigns * options.tasks + 1) + 20 * options.tasks
    while (done := jobs_done(grid)) < want and time.monotonic() - began < options.limit:
        time.sleep(2)
    over.set()
    for thread in threads:
        thread.join()
    exact = grid.api("root").ask("GET", "/admin/check")[0]["ok"]
    print(f"{options.users * options.campaigns} campaigns submitted in {submitted:.0f} s, "
          f"{done} of {want} jobs done after {time.monotonic() - began:.0f} s, "
          f"{len(took)} reads, {len(errors)} refused{': ' + errors[0] if errors else ''}, "
          f"gridadmin check {'agrees' if exact else 'DISAGREES'}; "
          f"load {os.getloadavg()[0]:.1f}")
    crowd = p99([s for _, s in took])
    ratios = [p99(some) / idle[20] for some in ([s for at, s in took if at < until],
                                                [s for at, s in took if at >= until])]
    good = crowd <= ASKED * idle[20] and done == want and exact and not errors
    print(f"crowd: p99 of reads {1000 * crowd:.1f} ms, idle {1000 * idle[20]:.1f} ms, "
          f"ratio {crowd / idle[20]:.1f} (asked: at most {ASKED}; while they submit "
          f"{ratios[0]:.1f}, afterwards {ratios[1]:.1f}; with a page of one campaign idle is "
          f"{1000 * idle[1]:.1f} ms, ratio {crowd / idle[1]:.1f}) {'ok' if good else 'MISSED'}")
    return 0 if good else 1


def jobs_done(grid):
    conninfo = pathlib.Path(grid.home, "conninfo").read_text().strip()
    return int(subprocess.run(["psql", "-XAtq", conninfo, "-c",
                               "SELECT count(*) FROM done WHERE exit_class = 'none'"],
                              check=True, text=True, stdout=subprocess.PIPE).stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in (("users", 200), ("campaigns", 50), ("tasks", 10), ("clients", 200),
                          ("slots", 64), ("limit", 3600)):
        parser.add_argument("--" + name, type=int, default=default)
    options = parser.parse_args()
    if os.geteuid() != 0:
        sys.exit("crowd.py: only root may name users and run their jobs as nobody")
    with Grid(options.slots) as grid:
        return measure(grid, options)


if __name__ == "__main__":
    sys.exit(main())
