#!/usr/bin/env python3
"""Whether a grid at steady work grows: memory, tables, files, cycle time, over two hours.

Usage: bench/soak.py [--seconds 7200] [--every 30] [--pace 8] [--json FILE] [--again FILE]

As root: a grid of `cigri up` with two local clusters. Every `--pace` seconds one of six users submits
a small campaign: short tasks, tasks that fail and are retried, tasks that fail until their events
are closed, tasks of two slots; one campaign in ten is cancelled, one paused and resumed. A longer
campaign of sleeps always runs on one cluster, whose own users come once a minute and preempt it.
Readers ask what gridstat asks for. Rows that are older than ten minutes are made older than their
retention, so that the grid removes as many as it makes (KEEP_CAMPAIGNS_DAYS is 1, at least).

A sample `--every` seconds. At the end the median of each series in the second quarter is compared
with that in the last one; asked: at most 10 % more, and small things may grow by a floor (FLOORS).
What is kept for good (accounts, ends that clusters remember, output) is told, not judged.
`--again FILE` judges samples that are there already. `--json` has one JSON object a sample.
"""
import argparse
import collections
import json
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time

from crowd import BIN, Api

MOST = 1.10
# How much of each kind may come on top of that: what a page, a session or a cache entry is.
FLOORS = {"pss_kb": 2048, "fds": 4, "threads": 2, "processes": 1, "bytes": 256 * 1024, "rows": 50,
          "ms": 2, "disk": 1024 * 1024}
# Grows by what is asked of the grid, not with its age: told, not judged (docs/operations.md).
KEPT = {"bytes usage", "bytes usage_pkey", "bytes usage_of_campaign", "rows usage",
        "disk clusters", "disk log", "disk wal"}
USERS = [f"user{i}" for i in range(6)]
OWN = {"almighty", "updator", "predictor", "metascheduler", "runner", "nikita", "notifier", "api",
       "localcluster"}

# What is older than ten minutes is as old as it must be for nikita to thin and to remove it: five
# minutes later it is older than the last row that stays. The audit refuses changes, and is
# changed by a session without triggers.
AGEING = """
SET session_replication_role = replica;
UPDATE campaigns SET completion_time = completion_time - interval '2 days'
WHERE completion_time BETWEEN now() - interval '1 day' AND now() - interval '10 minutes';
UPDATE events SET date_closed = date_closed - interval '91 days'
WHERE date_closed BETWEEN now() - interval '1 day' AND now() - interval '10 minutes';
UPDATE reasons SET until = until - interval '31 days', since = since - interval '31 days'
WHERE until BETWEEN now() - interval '1 day' AND now() - interval '10 minutes';
UPDATE audit SET at = at - interval '31 days'
WHERE at BETWEEN now() - interval '1 day' AND now() - interval '10 minutes';
UPDATE preemptions SET at = at - interval '1 hour'
WHERE at BETWEEN now() - interval '50 minutes' AND now() - interval '10 minutes';
UPDATE usage AS u SET bucket = bucket - interval '40 days'
WHERE bucket BETWEEN now() - interval '1 day' AND now() - interval '10 minutes'
    AND NOT EXISTS (SELECT FROM usage AS o WHERE o.campaign_id = u.campaign_id
        AND o.cluster_id = u.cluster_id AND o.bucket = u.bucket - interval '40 days');
""" + "".join(f"""
UPDATE {table} SET at = at - interval '400 days'
WHERE at BETWEEN now() - interval '1 day' AND now() - interval '75 minutes';
UPDATE {table} SET at = at - interval '1 hour'
WHERE at BETWEEN now() - interval '1 hour' AND now() - interval '10 minutes';
""" for table in ("gridstatus", "forecasts_history", "plans"))

SIZES = """
SELECT 'bytes ' || c.relname, pg_relation_size(c.oid)
    + CASE WHEN c.reltoastrelid > 0 THEN pg_total_relation_size(c.reltoastrelid) ELSE 0 END
FROM pg_class AS c WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'i')
UNION ALL SELECT 'bytes of catalogs', sum(pg_total_relation_size(oid))
    FROM pg_class WHERE relnamespace = 'pg_catalog'::regnamespace AND relkind = 'r'
UNION ALL SELECT 'dead ' || relname, n_dead_tup FROM pg_stat_user_tables WHERE schemaname = 'public'
UNION ALL SELECT 'disk wal', sum(size) FROM pg_ls_waldir()
UNION ALL SELECT 'wal written', pg_current_wal_lsn() - '0/0'
UNION ALL SELECT 'jobs ended', coalesce(sum(ok + not_ok), 0) FROM usage
UNION ALL SELECT 'aged usage', count(*) FROM usage WHERE bucket < now() - interval '1 day'
"""


def read_text(path):
    """None when the process is gone."""
    try:
        return pathlib.Path(path).read_text(errors="replace")
    except OSError:
        return None


class Grid:
    """A grid of its own, gone when the soak ends."""

    def __enter__(self):
        self.home = tempfile.mkdtemp(prefix="cigri-soak.")
        os.chmod(self.home, 0o755)
        conf = pathlib.Path(self.home, "cigri.conf")
        conf.write_text('API_TRUSTED_PROXY = "unix:root"\nKEEP_CAMPAIGNS_DAYS = 1\n'
                        'AUDIT_KEEP_DAYS = 30\nUPLOAD_KEEP = 600\n')
        self.environment = {"CIGRI_HOME": self.home, "CIGRICONFFILE": str(conf), "HOME": "/root",
                            "PATH": f"{BIN}:/usr/bin:/bin:/usr/sbin:/sbin", "LANG": "C.UTF-8"}
        self.run("cigri", "up", "--embedded", "--slots", "alpha=8,beta=4")
        self.conninfo = pathlib.Path(self.home, "conninfo").read_text().strip()
        self.tables = [row[0] for row in self.sql(
            "SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace"
            " AND relkind = 'r'")]
        return self

    def __exit__(self, *_):
        self.run("cigri", "down")
        shutil.rmtree(self.home)

    def run(self, *words, check=True):
        return subprocess.run(words, env=self.environment, check=check, text=True, cwd="/",
                              stdout=subprocess.PIPE, executable=BIN / words[0]).stdout

    def sql(self, text):
        out = subprocess.run(["psql", "-XAtq", "-F", "\t", "-v", "ON_ERROR_STOP=1", self.conninfo],
                             input=text, check=True, text=True, stdout=subprocess.PIPE).stdout
        return [line.split("\t") for line in out.splitlines()]

    def api(self, user):
        return Api(self.home + "/run/api.sock", user)

    def processes(self):
        """(program, pid) of every process of the grid: PostgreSQL's as one program; no jobs."""
        server = int((read_text(self.home + "/pg/postmaster.pid") or "0").split()[0])
        mark = f"CIGRI_HOME={self.home}".encode()
        for entry in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                stat = (entry / "stat").read_text(errors="replace")
                name = stat[stat.index("(") + 1:stat.rindex(")")]
                parent = int(stat[stat.rindex(")") + 2:].split()[1])
                pid = int(entry.name)
                if server in (pid, parent):
                    yield "postgres", pid
                elif name in OWN and mark in (entry / "environ").read_bytes().split(b"\0"):
                    yield name, pid
                elif name == "cigri-job" and self.home.encode() in (entry / "cmdline").read_bytes():
                    yield name, pid
            except (OSError, ValueError):
                continue


def cpu_ticks(pids):
    total = 0
    for pid in pids:
        text = read_text(f"/proc/{pid}/stat")
        if text:
            total += sum(int(n) for n in text[text.rindex(")") + 2:].split()[11:15])
    return total


def folder_bytes(path):
    return int(subprocess.run(["du", "-sB1", path], text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, check=False).stdout.split()[0])


class Watch:
    """Takes samples: a dict of numbers by "KIND NAME"."""

    def __init__(self, grid):
        self.grid, self.api = grid, grid.api("root")
        self.moments = collections.defaultdict(list)  # of what changes from second to second

    def look(self):
        """What the modules say of their last pass, and almighty of its last cycle."""
        self.api.request("GET", "/metrics", headers={"X-Cigri-User": "root"})
        text = self.api.getresponse().read().decode()
        found = re.search(r"^cigri_cycle_duration_seconds (\S+)$", text, re.M)
        if found:
            self.moments["ms cycle"].append(1000 * float(found[1]))
        for module, seconds in re.findall(
                r'^cigri_module_pass_duration_seconds\{module="(\w+)"\} (\S+)$', text, re.M):
            self.moments["ms " + module].append(1000 * float(seconds))

    def sample(self):
        of = collections.defaultdict(float)
        pids = []
        for name, pid in self.grid.processes():
            rollup, status = read_text(f"/proc/{pid}/smaps_rollup"), read_text(f"/proc/{pid}/status")
            try:
                fds = len(os.listdir(f"/proc/{pid}/fd"))
                of["pss_kb " + name] += int(re.search(r"^Pss: +(\d+)", rollup, re.M)[1])
                of["threads " + name] += int(re.search(r"^Threads:\s+(\d+)", status, re.M)[1])
            except (OSError, TypeError):
                continue  # it has ended
            of["fds " + name] += fds
            of["processes " + name] += 1
            pids.append(pid)
        for name, value in self.grid.sql(SIZES):
            of[name] = float(value)
        for name, value in self.grid.sql(" UNION ALL ".join(
                f"SELECT 'rows {table}', count(*) FROM {table}" for table in self.grid.tables)):
            of[name] = float(value)
        of["disk log"] = folder_bytes(self.grid.home + "/log")
        of["disk clusters"] = folder_bytes(self.grid.home + "/clusters")
        of["disk pg without wal"] = folder_bytes(self.grid.home + "/pg") - of["disk wal"]
        of["cpu_s"] = cpu_ticks(pids) / os.sysconf("SC_CLK_TCK")
        of["load"] = os.getloadavg()[0]
        for name, values in self.moments.items():
            of[name] = statistics.median(values)
        self.moments = collections.defaultdict(list)
        return dict(of)


def failing(good_try):
    """A command of which each fourth task fails until this try."""
    return (f'sleep 1; test $((CIGRI_TASK_INDEX % 4)) != 3 -o "$CIGRI_ATTEMPT" -ge {good_try}'
            " || { echo no luck >&2; exit 1; }")


class Users(threading.Thread):
    """Submit, cancel, pause, resume, close events: one act after the other."""

    def __init__(self, grid, over, pace, errors):
        super().__init__()
        self.grid, self.over, self.pace, self.errors = grid, over, pace, errors
        self.apis = {user: grid.api(user) for user in USERS}
        self.due = []  # (when, what to do)
        self.ends = {}  # campaign -> its user, jobs that must have ended well; None: cancelled
        self.longer = None

    def ask(self, user, method, what, body=None):
        try:
            return self.apis[user].ask(method, what, body)[0]
        except Exception as error:  # pylint: disable=broad-except
            self.errors.append(str(error))
            self.apis[user].close()
            return {}

    def submit(self, user, tasks, command, **keys):
        cluster = keys.pop("cluster", None)
        answer = self.ask(user, "POST", "/campaigns", {
            "name": "soak", "params": [f"p{i}" for i in range(tasks)], "exec_file": command + " #",
            "exec_directory": "/tmp", "walltime": "0:05:00",
            "clusters": {cluster: {}} if cluster else {"alpha": {}, "beta": {}}, **keys})
        if "id" in answer:
            self.ends[answer["id"]] = (user, tasks)
        return answer.get("id")

    def later(self, seconds, act):
        self.due.append((time.monotonic() + seconds, act))

    def close_events(self, user, campaign):
        """Once both tries of a task are spent; the third one succeeds."""
        now = self.ask(user, "GET", f"/campaigns/{campaign}/progress")
        if now.get("failed"):
            self.ask(user, "DELETE", f"/campaigns/{campaign}/events?resubmit=1")
        if now and (now["failed"] or not now["over"]):
            self.later(5, lambda: self.close_events(user, campaign))

    def is_over(self, user, campaign):
        return self.ask(user, "GET", f"/campaigns/{campaign}").get("state") in ("terminated",
                                                                                "cancelled")

    def cancel(self, user, campaign):
        self.ask(user, "DELETE", f"/campaigns/{campaign}")
        self.ends[campaign] = (user, None)

    def one(self, turn):
        user, kind = USERS[turn % len(USERS)], turn % 10
        if kind < 4:
            self.submit(user, 20, ("true", "sleep 0.5", "echo", "sleep 1")[kind])
        elif kind == 4:
            self.submit(user, 20, failing(2))
        elif kind == 5:
            campaign = self.submit(user, 12, failing(3))
            self.later(5, lambda: self.close_events(user, campaign))
        elif kind == 6:
            campaign = self.submit(user, 20, "sleep 3")
            self.later(5, lambda: self.cancel(user, campaign))
        elif kind == 7:
            campaign = self.submit(user, 20, "sleep 2")
            self.later(2, lambda: self.ask(user, "DELETE", f"/campaigns/{campaign}?hold=1"))
            self.later(12, lambda: self.ask(user, "DELETE", f"/campaigns/{campaign}?resume=1"))
        else:
            self.submit(user, 12, "sleep 0.5", resources="/nodes=1/core=2")

    def keep_sleeps(self):
        if self.longer is None or self.is_over(USERS[0], self.longer):
            self.longer = self.submit(USERS[0], 60, "sleep 20", cluster="beta", max_jobs=3)

    def run(self):
        began, turn = time.monotonic(), 0
        while not self.over.is_set():
            now = time.monotonic()
            if now >= began + turn * self.pace:
                self.one(turn)
                if turn % 3 == 0:
                    self.keep_sleeps()
                turn += 1
            due = [act for when, act in self.due if when <= now]
            self.due = [(when, act) for when, act in self.due if when > now]
            for act in due:
                act()
            self.over.wait(0.2)

    def finish(self, limit_s):
        """What is under way ends; what was cancelled too. False when it does not."""
        if self.longer:
            self.cancel(USERS[0], self.longer)
        until = time.monotonic() + limit_s
        while time.monotonic() < until:
            now, self.due = self.due, []
            for _, act in now:
                act()
            if int(self.grid.sql("SELECT count(*) FROM campaigns"
                                 " WHERE completion_time IS NULL")[0][0]) == 0:
                return True
            time.sleep(3)
        return False


def read_steadily(grid, over, took, errors, newest):
    """What gridstat asks for, twice a second."""
    api, turn = grid.api("root"), 0
    while not over.wait(0.5):
        campaign = newest()
        what = ("/campaigns?limit=20", f"/campaigns/{campaign}", f"/campaigns/{campaign}/progress",
                "/clusters", "/events?limit=20", f"/campaigns/{campaign}/why")
        try:
            took.append(api.ask("GET", what[turn % len(what)])[1])
        except Exception as error:  # pylint: disable=broad-except
            errors.append(str(error))
            api.close()
        turn += 1


def preempt(grid, over):
    """The users of the cluster beta come once a minute for all of its slots."""
    while not over.wait(60):
        grid.run("localsub", "-c", "beta", "-s", "4", "-d", "/tmp", "-w", "0:01:00", "--", "sleep",
                 "5")


def unaccounted(grid, users):
    """Campaigns whose end is not the one that was asked for, and those of which the accounts, which
    are kept, do not have each task once."""
    rows = grid.sql("SELECT c.id, c.state, (SELECT count(*) FROM done AS d WHERE"
                    " d.campaign_id = c.id AND d.counted) FROM campaigns AS c")
    wrong = []
    for campaign, state, done in rows:
        _, want = users.ends.get(int(campaign), (None, -1))
        if (state == "cancelled" if want is None else state == "terminated" and int(done) == want):
            continue
        wrong.append(f"campaign {campaign} is {state}, {done} of {want} done")
    accounts = {int(campaign): int(ok) for campaign, ok in grid.sql(
        "SELECT campaign_id, sum(ok) FROM usage GROUP BY 1")}
    for campaign, (_, want) in users.ends.items():
        if want is not None and accounts.get(campaign) != want:
            wrong.append(f"campaign {campaign} has {accounts.get(campaign)} of {want} successes in"
                         " the accounts")
    return wrong


def judge(samples):
    """The series that grew, as sentences; what is kept by design."""
    quarter = len(samples) // 4
    second, last = samples[quarter:2 * quarter], samples[3 * quarter:]
    grew, kept = [], []
    names = sorted({name for sample in samples for name in sample})
    for name in names:
        kind = name.split()[0]
        was, now = (statistics.median(s.get(name, 0) for s in part) for part in (second, last))
        if name in KEPT:
            kept.append(f"{name}: {was:.0f} -> {now:.0f}")
        elif kind in FLOORS and now > MOST * was and now > was + FLOORS[kind]:
            grew.append(f"{name}: {was:.1f} -> {now:.1f} ({now / max(was, 1e-9):.2f} x)")
    return grew, kept, sum(name.split()[0] in FLOORS and name not in KEPT for name in names)


def tell(samples, wrong):
    grew, kept, series = judge(samples)
    first, end = samples[0], samples[-1]
    seconds, jobs = end["at"] - first["at"], end["jobs ended"] - first["jobs ended"]
    print(f"  {jobs:.0f} jobs in {seconds:.0f} s, CPU of the grid "
          f"{100 * (end['cpu_s'] - first['cpu_s']) / seconds:.0f} % of a core, WAL "
          f"{(end['wal written'] - first['wal written']) / max(jobs, 1):.0f} bytes a job; kept: "
          + ", ".join(kept))
    quarter = len(samples) // 4
    for name in ("pss_kb api", "pss_kb almighty", "pss_kb postgres", "pss_kb localcluster",
                 "rows done", "bytes done", "disk pg without wal", "ms cycle", "ms read"):
        print("  %s: %s" % (name, " ".join(
            f"{statistics.median(s.get(name, 0) for s in samples[i * quarter:(i + 1) * quarter]):.1f}"
            for i in range(4))))
    for line in grew:
        print("  grew: " + line)
    for line in wrong:
        print("  wrong: " + line)
    good = not grew and not wrong
    print(f"soak: ours {len(grew)} of {series} series grew, other -, ratio {len(grew)} (asked: at "
          f"most 0; {seconds:.0f} s, {len(wrong)} complaints) {'ok' if good else 'MISSED'}")
    return 0 if good else 1


def soak(grid, options):
    for user in USERS:
        for cluster in ("alpha", "beta"):
            grid.api("root").ask("PUT", "/admin/mapping",
                                 {"user": user, "cluster": cluster, "login": "nobody"})
    over, took, errors = threading.Event(), [], []
    users = Users(grid, over, options.pace, errors)
    threads = [users,
               threading.Thread(target=read_steadily, args=(
                   grid, over, took, errors, lambda: max(users.ends, default=1))),
               threading.Thread(target=preempt, args=(grid, over))]
    watch, samples = Watch(grid), []
    began = time.monotonic()
    for thread in threads:
        thread.start()
    with open(options.json or os.devnull, "w", encoding="utf-8") as out:
        next_sample = next_ageing = began + options.every
        while time.monotonic() < began + options.seconds:
            watch.look()
            if time.monotonic() >= next_ageing:
                grid.sql(AGEING)
                next_ageing += 60
            if time.monotonic() >= next_sample:
                sample = watch.sample()
                if took:
                    sample["ms read"] = 1000 * statistics.median(took)
                    took.clear()
                sample.update({"at": time.monotonic() - began, "campaigns": len(users.ends),
                               "errors": len(errors)})
                samples.append(sample)
                print(json.dumps(sample), file=out, flush=True)
                next_sample += options.every
            time.sleep(2)
    over.set()
    for thread in threads:
        thread.join()
    wrong = [] if users.finish(300) else ["campaigns did not end in 300 s"]
    wrong += unaccounted(grid, users) + errors
    if not grid.api("root").ask("GET", "/admin/check")[0]["ok"]:
        wrong.append("gridadmin check: " + grid.run("gridadmin", "check", check=False))
    print(f"{len(users.ends)} campaigns submitted, {len(samples)} samples")
    return tell(samples, wrong)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in (("seconds", 7200), ("every", 30), ("pace", 8)):
        parser.add_argument("--" + name, type=float, default=default)
    for name in ("json", "again"):
        parser.add_argument("--" + name)
    options = parser.parse_args()
    if options.again:
        with open(options.again, encoding="utf-8") as lines:
            return tell([json.loads(line) for line in lines], [])
    if os.geteuid() != 0:
        sys.exit("soak.py: only root may name users and run their jobs as nobody")
    with Grid() as grid:
        return soak(grid, options)


if __name__ == "__main__":
    sys.exit(main())
