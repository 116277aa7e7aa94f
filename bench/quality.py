#!/usr/bin/env python3
"""How good the decisions are: families of scenarios, run through gridsim.

    bench/quality.py                          all families, seeds 1 to 3
    bench/quality.py --seeds 1-10 --json FILE --family rough-calm
    bench/quality.py --gridsim OTHER/gridsim  another build, for before and after
    bench/quality.py --trace LOG.swf --family fifty-users     a log of a real cluster
    bench/quality.py --lost                   where the slot time goes that local users take back
    bench/quality.py --protections            what reservations, black holes and copies would do
    bench/quality.py --numbers 1-12           the same families with other numbers, twelve times
    bench/quality.py --before OTHER/gridsim   site-default of this build against that of another

For each family and seed the default of a fresh grid (site-default), against
  best          the best of our own policies and settings for that family: the lowest median over
                the seeds, of those that keep shares (median share error at most 3 %) and end every
                task; each seed is then compared with the same one. "luckiest" is the best of each
                seed, another one for each: the least of nine noisy runs, so no run of any policy
                is as good on every seed. It is information, not a target,
  clairvoyant   the simulator's scheduler that knows the future, and
  unguarded     the same policy without its rules for clusters that kill jobs.
Ratios are printed as median and spread over the seeds; with --json, a line for each run. A family
that misses a target is marked; then the exit code is 1. docs/benchmarks.md says what the families
are.
"""
import argparse
import csv
import io
import itertools
import json
import math
import os
import random
import re
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
MIN, HOUR, DAY = 60, 3600, 86400
MOST_SHARE_ERROR = 0.03
# Where local users kill jobs: less has to be lost there.
ROUGH = ("mixed-bursts", "one-cluster", "rough-calm", "day-night", "fifty-users")
# What the ratios may be, the median over the seeds.
TARGETS = {"wait": 1.05, "slowdown": 1.05, "clairvoyant": 1.3, "lost": 0.5}
KEYS = ("wait", "slowdown")
CLAIRVOYANT = "clairvoyant"
UNGUARDED = "unguarded"
TRACE = ""  # of --trace
POLICIES = ("usage", "stride", "fairshare")
SETTINGS = {"": {}, "survival.kills=0": {"survival.kills": 0}, "job_ratio=none": "ratio"}


def cluster(name, slots, local=None, **more):
    return dict({"name": name, "slots": slots, "submit": 2, "see": 5, "local": local or []}, **more)


def bursts(every, slots, duration):
    return [{"every": every, "slots": slots, "duration": duration}]


def campaign(user, tasks, duration, at=0, **more):
    return dict({"user": user, "tasks": tasks, "duration": duration, "at": at}, **more)


def exponential(mean):
    return {"distribution": "exponential", "mean": mean}


def lognormal(median, sigma):
    return {"distribution": "lognormal", "median": median, "sigma": sigma}


# Each family makes clusters and campaigns from a random generator of the seed, so that numbers
# differ from seed to seed and only the kind of grid is the same.

def mixed_bursts(r):
    clusters = [cluster("calm", r.randint(60, 80)),
                cluster("a", r.randint(100, 160), bursts(r.uniform(20, 60) * MIN, 80, 10 * MIN)),
                cluster("b", r.randint(200, 300), bursts(r.uniform(1, 3) * HOUR, 180, 30 * MIN)),
                cluster("c", 400, bursts(r.uniform(2, 5) * HOUR, 350, HOUR))]
    lengths = [2 * MIN, 10 * MIN, 30 * MIN, HOUR, 3 * HOUR, 6 * HOUR]
    campaigns = [campaign(f"user{i}", max(30, int(400 * HOUR * r.uniform(.5, 1.5) / length / 4)),
                          lognormal(length, .3), at=r.uniform(0, 4) * HOUR,
                          slots=16 if i == 1 else 1)
                 for i, length in enumerate(lengths)]
    return {"clusters": clusters, "campaigns": campaigns}


def one_cluster(r):
    return {"clusters": [cluster("k", 120, bursts(25 * MIN, 90, 3 * MIN))],
            "campaigns": [campaign("alice", 1860, 12 * MIN)]}


def rough_calm(r):
    clusters = [cluster("rough1", 100, bursts(r.uniform(20, 40) * MIN, 80, 5 * MIN)),
                cluster("rough2", 100, bursts(r.uniform(40, 80) * MIN, 90, 10 * MIN)),
                cluster("calm", 60)]
    return {"clusters": clusters,
            "campaigns": [campaign("long", r.randint(80, 160), 3 * HOUR),
                          campaign("middle", r.randint(400, 800), 40 * MIN),
                          campaign("short", r.randint(4000, 8000), 3 * MIN)]}


def departments_wide(r):
    return {"base": "departments",
            "clusters": [cluster("k", 100, bursts(10 * MIN, 90, 3 * MIN), preempts=False,
                                 submit=5, see=20)],
            "campaigns": [campaign("alice", 2000, 2 * MIN, slots=4)]}


def many_small(r):
    small = [campaign(f"user{i}", r.randint(5, 60), lognormal(10 * MIN, .5),
                      at=r.uniform(0, 12) * HOUR) for i in range(30)]
    return {"clusters": [cluster("a", 100), cluster("b", 50, speed=1.5)],
            "campaigns": [campaign("large", 6000, 15 * MIN)] + small}


def heavy_campaigns(r):
    return {"clusters": [cluster("a", 150), cluster("b", 80, bursts(HOUR, 40, 20 * MIN))],
            "campaigns": [campaign(f"user{i % 8}", min(5000, int(10 * r.paretovariate(.8))),
                                   lognormal(8 * MIN, .4), at=r.uniform(0, 10) * HOUR)
                          for i in range(40)]}


def heavy_durations(r):
    return {"clusters": [cluster("a", 120), cluster("b", 60, bursts(2 * HOUR, 30, HOUR))],
            "campaigns": [campaign(f"user{i}", r.randint(200, 500), lognormal(5 * MIN, 1.6),
                                   at=r.uniform(0, 3) * HOUR) for i in range(6)]}


def wide_narrow(r):
    return {"clusters": [cluster("a", 96), cluster("b", 64)],
            "campaigns": [campaign("narrow", 4000, 6 * MIN),
                          campaign("wide", r.randint(60, 120), 20 * MIN, slots=16),
                          campaign("middle", 600, 10 * MIN, slots=4, at=HOUR)]}


def own_wide(r):
    """Users have wide campaigns next to narrow ones of their own."""
    made = []
    for user in ("large", "small", "third"):
        made.append(campaign(user, r.randint(1500, 3000), lognormal(5 * MIN, .5)))
        made += [campaign(user, r.randint(2, 20), lognormal(15 * MIN, .5), slots=r.choice((8, 16)),
                          at=r.uniform(0, 6) * HOUR) for _ in range(3)]
        made += [campaign(user, r.randint(10, 60), lognormal(5 * MIN, .5),
                          at=r.uniform(0, 6) * HOUR) for _ in range(4)]
    return {"clusters": [cluster("a", 96), cluster("b", 64)], "campaigns": made}


def day_night(r):
    days = [{"every": 15 * MIN, "slots": 40, "duration": HOUR, "from": (d * 24 + 8) * HOUR,
             "until": (d * 24 + 18) * HOUR} for d in range(6)]
    return {"clusters": [cluster("day", 200, days), cluster("calm", 40)],
            "campaigns": [campaign("long", 300, 4 * HOUR), campaign("short", 8000, 10 * MIN),
                          campaign("late", 500, 30 * MIN, at=10 * HOUR)]}


def faulty(r):
    return {"clusters": [cluster("fails", 80, failures=.05),
                         cluster("nodes", 80, nodes=10, node_fails_every=2 * DAY),
                         cluster("far", 80, submit=20, see=60),
                         cluster("overstates", 60, overstates=20),
                         cluster("swallows", 20, swallows=2),
                         cluster("slow", 40, slow_jobs=.02)],
            "campaigns": [campaign(f"user{i}", r.randint(500, 1500), lognormal(m * MIN, .3),
                                   tries=5, min_duration=10)
                          for i, m in enumerate((3, 12, 40))]}


def nearly_idle(r):
    return {"clusters": [cluster("a", 200), cluster("b", 100, bursts(HOUR, 60, 10 * MIN))],
            "campaigns": [campaign(f"user{i % 4}", r.randint(5, 80), lognormal(15 * MIN, .5),
                                   at=r.uniform(0, 24) * HOUR) for i in range(20)]}


def trace(r):
    """A day of 50 users in the Standard Workload Format: sessions in working hours, users of very
    different diligence, each with a length and a width of his own."""
    jobs = []
    for user in range(50):
        length = r.lognormvariate(math.log(10 * MIN), 1)
        width = r.choice((1, 1, 1, 1, 1, 2, 4))
        for session in range(1 + int(r.expovariate(1 / 2))):
            at = r.triangular(6, 22, 14) * HOUR
            for _ in range(min(400, int(5 * r.paretovariate(.9)))):
                at += r.expovariate(1 / 5)
                run = max(5, int(length * r.lognormvariate(0, .4)))
                jobs.append((int(at), run, width, user, session))
    lines = ["; a trace made by bench/quality.py", "; MaxProcs: 256"]
    for n, (at, run, width, user, session) in enumerate(sorted(jobs), 1):
        lines.append(f"{n} {at} -1 {run} {width} -1 -1 {width} {4 * run} -1 1 {user} 1 {session} "
                     "-1 -1 -1 -1")
    return "\n".join(lines) + "\n"


def fifty_users(r):
    text = TRACE or trace(r)
    slots = int(re.search(r"^; *MaxProcs: *(\d+)", text, re.M).group(1)) // 2
    last = max(int(line.split()[1]) for line in text.splitlines() if line[:1] not in ("", ";"))
    return {"until": last + 12 * DAY,
            "clusters": [cluster("a", slots, bursts(HOUR, slots // 2, 20 * MIN)),
                         cluster("b", slots)],
            "trace": text,
            "campaigns": [{"name": "trace", "swf": "trace.swf", "group_within": 10 * MIN}]}


FAMILIES = {f.__name__.replace("_", "-"): f for f in (
    mixed_bursts, one_cluster, rough_calm, departments_wide, many_small, heavy_campaigns,
    heavy_durations, wide_narrow, own_wide, day_night, faulty, nearly_idle, fifty_users)}


def other_numbers(made, r):
    """Slots, bursts, delays, lengths and counts drawn around those of a scenario."""
    def near(least, most):
        return math.exp(r.uniform(math.log(least), math.log(most)))

    for c in made["clusters"]:
        before, c["slots"] = c["slots"], max(8, int(c["slots"] * near(.6, 1.7)))
        for burst in c["local"]:
            burst["slots"] = max(1, int(c["slots"] * min(1, burst["slots"] / before * near(.7, 1.2))))
            burst["every"] *= near(.5, 2.2)
            burst["duration"] *= near(.5, 2)
            if "from" not in burst:
                burst["duration"] = min(burst["duration"], burst["every"] * .8)
        for key in ("submit", "see"):
            c[key] = max(1, int(c[key] * near(.7, 2)))
    drawn = {}  # by user
    for c in made["campaigns"]:
        if "duration" not in c:  # of a trace
            continue
        length, tasks = drawn.setdefault(c["user"], (near(.4, 2.5), near(.6, 1.6)))
        if isinstance(c["duration"], dict):
            c["duration"].update((k, v * length) for k, v in c["duration"].items()
                                 if k in ("median", "mean"))
        else:
            c["duration"] *= length
        c["tasks"] = max(3, int(c["tasks"] * tasks / max(1, length ** .7)))
        c["slots"] = min(c.get("slots", 1), *(one["slots"] for one in made["clusters"]))


def scenario(family, seed):
    """`seed`: 7, or "3:7" with the third set of other numbers."""
    numbers, _, own = str(seed).rpartition(":")
    made = FAMILIES[family](random.Random(f"{family} {own}"))
    if numbers:
        other_numbers(made, random.Random(f"{family} {numbers}"))
    made["campaigns"].sort(key=lambda c: c.get("at", 0))
    return dict({"until": 12 * DAY}, **made, seed=int(own))


def simulate(gridsim, made, rows, *options):
    """What gridsim prints, and the text of the file FILE where an option names it."""
    made = dict(made, policy=rows)
    made.pop("base", None)
    text = made.pop("trace", None)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "scenario.json")
        with open(path, "w") as file:
            json.dump(made, file)
        if text:
            with open(os.path.join(folder, "trace.swf"), "w") as file:
                file.write(text)
        written = os.path.join(folder, "FILE.csv")
        out = subprocess.run([gridsim, path] + [o.replace("FILE", written) for o in options],
                             stdout=subprocess.PIPE, check=True, stderr=subprocess.DEVNULL).stdout
        if not os.path.exists(written):
            return out, ""
        with open(written) as file:
            return out, file.read()


def run(gridsim, made, rows, ratio):
    """The report of one run."""
    if ratio:
        made = dict(made, clusters=[dict(c, job_ratio=ratio) for c in made["clusters"]])
    report = json.loads(simulate(gridsim, made, rows, "--json")[0])
    return {"wait": report["wait_mean_s"], "slowdown": report["campaign_slowdown"],
            "share_error": report["share_error"], "lost_h": report["lost_slot_s"] / HOUR,
            "not_done": report["not_done"], "makespan": report["makespan_s"]}


def variants(family, made):
    """site-default, then what it is compared with: (name, rows, job ratio)."""
    base = made.get("base", "site-default")
    yield base, {"preset": base}, None
    for policy, (name, rows) in itertools.product(POLICIES, SETTINGS.items()):
        ratio = "none" if rows == "ratio" else None
        more = {} if rows == "ratio" else rows
        yield f"{policy} {name}".strip(), dict({"preset": base, "policy": policy}, **more), ratio
    yield CLAIRVOYANT, {"preset": base, "policy": CLAIRVOYANT}, None
    if family in ROUGH:
        yield UNGUARDED, {"preset": base, "survival.kills": 0}, None


def compare(gridsim, unguarded, family, seed, out):
    made = scenario(family, seed)
    runs = {}
    for name, rows, ratio in variants(family, made):
        runs[name] = run(unguarded if name == UNGUARDED else gridsim, made, rows, ratio)
        if out:
            print(json.dumps({"family": family, "seed": seed, "run": name, **runs[name]}),
                  file=out, flush=True)
    foresees, without = runs.pop(CLAIRVOYANT), runs.pop(UNGUARDED, None)
    ours, *others = runs.values()
    good = [o for o in others if o["share_error"] <= MOST_SHARE_ERROR and o["not_done"] == 0]
    ratios = {"share error": ours["share_error"], "its share error": foresees["share_error"]}
    for key in KEYS:
        best = min((o[key] for o in good), default=None)
        ratios["luckiest " + key] = ours[key] / best if best else None
    ratios[CLAIRVOYANT] = ours["slowdown"] / foresees["slowdown"]
    some = without is not None and without["lost_h"] > 0
    ratios["lost"] = ours["lost_h"] / without["lost_h"] if some else None
    return ours, others, ratios


def against_best(results, key):
    """site-default against the best of the family, seed by seed."""
    def median(runs, k):
        return statistics.median(run[k] for run in runs)

    good = [runs for runs in zip(*(others for _, others, _ in results))
            if median(runs, "share_error") <= MOST_SHARE_ERROR
            and not any(run["not_done"] for run in runs)]
    best = min(good, key=lambda runs: median(runs, key), default=None)
    # Means of what ended say nothing of what did not.
    return [math.inf if ours["not_done"] else ours[key] / b[key] if b and b[key] else None
            for (ours, _, _), b in zip(results, best or [None] * len(results))]


def spread(values):
    known = [v for v in values if v is not None]
    if not known:
        return "-"
    return f"{statistics.median(known):.2f} ({min(known):.2f} to {max(known):.2f})"


def seeds_of(text):
    for part in text.split(","):
        first, _, last = part.partition("-")
        yield from range(int(first), int(last or first) + 1)


def missed(columns, not_done):
    """Names of the targets that a family misses."""
    names = ["every task done"] if not_done else []
    for key, most in dict(TARGETS, **{"share error": MOST_SHARE_ERROR}).items():
        known = [v for v in columns[key] if v is not None]
        if known and statistics.median(known) > most:
            names.append(key)
    return names


def lost(gridsim, family, seed):
    """Slot hours of a run of site-default: useful, lost to local users, and lost by jobs that had
    begun before their cluster killed one for the first time: nobody could know."""
    _, jobs = simulate(gridsim, scenario(family, seed), {"preset": "site-default"}, "--jobs", "FILE")
    jobs = [j for j in csv.DictReader(io.StringIO(jobs)) if j["started"]]
    killed = [j for j in jobs if j["end"] == "preempted"]
    first = {}
    for j in killed:
        first[j["cluster"]] = min(first.get(j["cluster"], math.inf), float(j["ended"]))

    def hours(some):
        return sum(int(j["slots"]) * (float(j["ended"]) - float(j["started"])) for j in some) / HOUR

    unknown = [j for j in killed if float(j["started"]) < first[j["cluster"]]]
    return hours(j for j in jobs if j["end"] == "done"), hours(killed), hours(unknown)


def kept(made):
    """Quotas that keep long tasks (half the time between two bursts, or more) within the slots of a
    cluster that no burst takes, each user with an equal part of them."""
    quotas = []
    for c in made["clusters"]:
        if not c["local"]:
            continue
        taken = max(b["slots"] * max(1, int(b["duration"] / b["every"])) for b in c["local"])
        every = min(b["every"] for b in c["local"])
        users = set()
        for one in made["campaigns"]:
            length = one.get("duration", 0)
            if isinstance(length, dict):
                length = length.get("median", length.get("mean"))
            if length >= every / 2:
                users.add(one["user"])
        quotas += [{"scope": "user", "name": user, "cluster": c["name"],
                    "slots": max(0, c["slots"] - taken) // len(users)} for user in sorted(users)]
    return quotas


def show_lost(gridsim, families, seeds):
    print(f"{'family':18}{'useful, h':12}{'lost, h':24}{'of them unknowable':24}"
          "with long tasks on kept slots alone: lost, mean wait, slowdown, makespan")
    for family in families:
        rows, ratios = [], []
        for seed in seeds:
            rows.append(lost(gridsim, family, seed))
            made = scenario(family, seed)
            quotas = kept(made)
            if not quotas:
                continue
            a, b = (run(gridsim, made, dict({"preset": "site-default"}, **more), None)
                    for more in ({}, {"quotas": quotas}))
            ratios.append([b[k] / a[k] for k in ("lost_h", "wait", "slowdown", "makespan")])
        useful, gone, unknown = zip(*rows)
        print(f"{family:18}{statistics.median(useful):<12.0f}{spread(gone):24}{spread(unknown):24}" +
              ", ".join(spread(column) for column in zip(*ratios)), flush=True)


# Rules that site-default leaves out: rows of the policy, and keys of every campaign.
PROTECTIONS = {"multi_slot.age 20": ({"multi_slot.age": 20}, {}),
               "black_hole.count 20": ({"black_hole.count": 20}, {}),
               "copies": ({}, {"replicas": True})}


def with_keys(made, keys):
    return dict(made, campaigns=[dict(c, **keys) for c in made["campaigns"]])


def never_run(gridsim, made, rows):
    """The part of the tasks that only a cluster has had that swallows jobs."""
    text = simulate(gridsim, made, dict({"preset": "site-default"}, **rows), "--jobs", "FILE")[1]
    where = {}
    for job in csv.DictReader(io.StringIO(text)):
        if job["end"] == "done":
            where.setdefault((job["campaign"], job["task"]), set()).add(job["cluster"])
    return sum(clusters == {"swallows"} for clusters in where.values()) / len(where)


def done_before(r):
    """A campaign that is run again: 300 tasks in a row find their results and end at once."""
    again = [300] * r.randint(200, 600) + [2] * 300 + [300] * 500
    return {"clusters": [cluster("a", 50), cluster("b", 50)],
            "campaigns": [campaign("ann", len(again), again)]}


def show_protections(gridsim, families, seeds):
    """What the rules of PROTECTIONS change, and what black_hole.count costs and finds."""
    print(f"{'family':18}{'with':22}{'mean wait':24}{'slowdown':24}{'makespan':24}{'lost':24}")
    for family in families:
        made = [scenario(family, seed) for seed in seeds]
        preset = {"preset": made[0].get("base", "site-default")}
        plain = [run(gridsim, m, preset, None) for m in made]
        for name, (rows, keys) in PROTECTIONS.items():
            runs = [run(gridsim, with_keys(m, keys), dict(preset, **rows), None) for m in made]
            print(f"{family:18}{name:22}" + "".join(
                f"{spread([b[k] / a[k] if a[k] else None for a, b in zip(plain, runs)]):24}"
                for k in ("wait", "slowdown", "makespan", "lost_h")), flush=True)
    holes = {"black_hole.count": 20}
    for seed in seeds:
        made = scenario("faulty", seed)
        open_ = with_keys(made, {"min_duration": 0})
        again = dict(done_before(random.Random(seed)), seed=seed, until=12 * DAY)
        a, b = (json.loads(simulate(gridsim, again, dict({"preset": "site-default"}, **rows),
                                    "--json")[0])["makespan_s"] for rows in ({}, holes))
        print(f"seed {seed}: swallowed and never run, of all tasks: "
              f"{never_run(gridsim, open_, {}):.2f}, with black_hole.count 20 "
              f"{never_run(gridsim, open_, holes):.2f}, with min_duration "
              f"{never_run(gridsim, made, {}):.2f}; a campaign that is run again ends after "
              f"{b / a:.2f} of the time with black_hole.count 20", flush=True)


def show_before(gridsim, before, families, seeds):
    """site-default of this build against that of another: geometric means over the scenarios."""
    def mean(ratios):
        return math.exp(statistics.fmean(map(math.log, ratios))) if ratios else math.nan

    print(f"{'family':18}{'runs':6}{'wait':8}{'slowdown':10}{'makespan':10}{'lost':8}"
          "share error: mean, above the target")
    for family in families:
        runs = [[run(g, made, {"preset": made.get("base", "site-default")}, None)
                 for g in (before, gridsim)] for made in (scenario(family, s) for s in seeds)]
        means = [mean([b[k] / a[k] for a, b in runs if a[k] > 0 and b[k] > 0])
                 for k in ("wait", "slowdown", "makespan")]
        lost_before, lost_now = (sum(pair[i]["lost_h"] for pair in runs) for i in (0, 1))
        errors = [[pair[i]["share_error"] for pair in runs] for i in (0, 1)]
        print(f"{family:18}{len(runs):<6}{means[0]:<8.3f}{means[1]:<10.3f}{means[2]:<10.3f}"
              f"{f'{lost_now / lost_before:.2f}' if lost_before > 0 else '-':8}"
              + ", ".join("{:.3f} to {:.3f}".format(*map(statistics.fmean, errors)) if k == 0 else
                          "{} to {}".format(*(sum(e > MOST_SHARE_ERROR for e in some)
                                              for some in errors)) for k in (0, 1)), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--gridsim", default=os.path.join(HERE, "../build/bin/gridsim"))
    parser.add_argument("--unguarded", metavar="GRIDSIM",
                        help="the build that runs as unguarded, default the same")
    parser.add_argument("--seeds", default="1-3", help="as 1-10 or 1,4,7")
    parser.add_argument("--numbers", help="as 1-12: each seed with each of these sets of other "
                        "numbers")
    parser.add_argument("--before", metavar="GRIDSIM",
                        help="another build: site-default alone, before and after")
    parser.add_argument("--family", action="append", choices=sorted(FAMILIES))
    parser.add_argument("--json", help="a line for each run goes to this file")
    parser.add_argument("--trace", metavar="SWF", type=argparse.FileType(),
                        help="the jobs of fifty-users, in place of made ones")
    parser.add_argument("--lost", action="store_true",
                        help="where lost slot time goes, in the families where jobs are killed")
    parser.add_argument("--protections", action="store_true",
                        help="site-default with rules that it leaves out, against itself")
    options = parser.parse_args()
    if options.trace:
        global TRACE
        TRACE = options.trace.read()
    seeds = list(seeds_of(options.seeds))
    if options.numbers:
        seeds = [f"{n}:{s}" for n in seeds_of(options.numbers) for s in seeds]
    families = options.family or list(FAMILIES)
    if options.before:
        return show_before(options.gridsim, options.before, families, seeds)
    if options.protections:
        return show_protections(options.gridsim, families, seeds)
    if options.lost:
        return show_lost(options.gridsim, options.family or ROUGH, seeds)
    out = open(options.json, "w") if options.json else None
    failed = 0
    titles = {"wait": "mean wait / best", "slowdown": "slowdown / best",
              CLAIRVOYANT: "slowdown / clairvoyant", "lost": "lost / unguarded",
              "share error": "share error", "its share error": "of clairvoyant",
              "luckiest wait": "wait / luckiest", "luckiest slowdown": "slowdown / luckiest"}
    print(f"{'family':18}" + "".join(f"{t:24}" for t in titles.values()) + "not done, missed")
    for family in families:
        results = [compare(options.gridsim, options.unguarded or options.gridsim, family, seed, out)
                   for seed in seeds]
        columns = {key: against_best(results, key) if key in KEYS else
                   [ratios[key] for _, _, ratios in results] for key in titles}
        not_done = sum(ours["not_done"] for ours, _, _ in results)
        names = missed(columns, not_done)
        print(f"{family:18}" + "".join(f"{spread(columns[k]):24}" for k in titles) +
              f"{not_done} {', '.join(names)}", flush=True)
        failed += bool(names)
    if out:
        out.close()
    print(f"{failed} of {len(families)} families miss a target: " +
          ", ".join(f"{k} at most {v}" for k, v in TARGETS.items()) +
          f", share error at most {MOST_SHARE_ERROR}, every task done")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
