#!/usr/bin/env python3
"""How good the decisions are: families of scenarios, run through gridsim.

    bench/quality.py                          all families, seeds 1 to 3
    bench/quality.py --seeds 1-10 --json FILE --family rough-calm
    bench/quality.py --gridsim OTHER/gridsim  another build, for before and after

For each family and seed: the default of a fresh grid (site-default) against the best of our own
policies and settings that keep shares (share error at most 3 %, or ours) and end every task. Ratios are
printed with their spread over the seeds; with --json, a line for each run. Exit code 1: a target
is missed.
"""
import argparse
import itertools
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
MIN, HOUR, DAY = 60, 3600, 86400
MOST_SHARE_ERROR = 0.03
TARGETS = {"wait": 1.05, "slowdown": 1.05}
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
                         cluster("slow", 40, slow_jobs=.02)],
            "campaigns": [campaign(f"user{i}", r.randint(500, 1500), lognormal(m * MIN, .3), tries=5)
                          for i, m in enumerate((3, 12, 40))]}


def nearly_idle(r):
    return {"clusters": [cluster("a", 200), cluster("b", 100, bursts(HOUR, 60, 10 * MIN))],
            "campaigns": [campaign(f"user{i % 4}", r.randint(5, 80), lognormal(15 * MIN, .5),
                                   at=r.uniform(0, 24) * HOUR) for i in range(20)]}


def fifty_users(r):
    jobs = [campaign(f"user{i % 50}", r.randint(5, 120), exponential(r.uniform(2, 60) * MIN),
                     at=r.expovariate(1 / (6 * HOUR))) for i in range(120)]
    return {"clusters": [cluster("a", 128, bursts(HOUR, 64, 20 * MIN)), cluster("b", 128)],
            "campaigns": jobs}


FAMILIES = {f.__name__.replace("_", "-"): f for f in (
    mixed_bursts, one_cluster, rough_calm, departments_wide, many_small, heavy_campaigns,
    heavy_durations, wide_narrow, day_night, faulty, nearly_idle, fifty_users)}


def scenario(family, seed):
    made = FAMILIES[family](random.Random(f"{family} {seed}"))
    made["campaigns"].sort(key=lambda c: c["at"])
    return dict(made, seed=seed, until=12 * DAY)


def run(gridsim, made, rows, ratio):
    """The report of one run."""
    made = dict(made, policy=rows)
    made.pop("base", None)
    if ratio:
        made["clusters"] = [dict(c, job_ratio=ratio) for c in made["clusters"]]
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(made, file)
        file.flush()
        out = subprocess.run([gridsim, file.name, "--json"], stdout=subprocess.PIPE, check=True,
                             stderr=subprocess.DEVNULL).stdout
    report = json.loads(out)
    return {"wait": report["wait_mean_s"], "slowdown": report["campaign_slowdown"],
            "share_error": report["share_error"], "lost_h": report["lost_slot_s"] / HOUR,
            "not_done": report["not_done"], "makespan": report["makespan_s"]}


def variants(made):
    """site-default, then what it is compared with: (name, rows, job ratio)."""
    base = made.get("base", "site-default")
    yield base, {"preset": base}, None
    for policy, (name, rows) in itertools.product(POLICIES, SETTINGS.items()):
        ratio = "none" if rows == "ratio" else None
        more = {} if rows == "ratio" else rows
        yield f"{policy} {name}".strip(), dict({"preset": base, "policy": policy}, **more), ratio


def compare(gridsim, family, seed, out):
    made = scenario(family, seed)
    runs = {}
    for name, rows, ratio in variants(made):
        runs[name] = run(gridsim, made, rows, ratio)
        if out:
            print(json.dumps({"family": family, "seed": seed, "run": name, **runs[name]}),
                  file=out, flush=True)
    ours, *others = runs.values()
    # Where preempted work keeps nobody within 3 %, those count that keep shares as well as ours.
    most_error = max(MOST_SHARE_ERROR, ours["share_error"])
    good = [o for o in others if o["share_error"] <= most_error and o["not_done"] == 0]
    ratios = {}
    for key in TARGETS:
        best = min((o[key] for o in good), default=None)
        ratios[key] = ours[key] / best if best else 1.0
        if ours["not_done"]:  # means of what ended say nothing of what did not
            ratios[key] = float("inf")
    unguarded = runs["fairshare survival.kills=0"]["lost_h"]
    ratios["lost"] = ours["lost_h"] / unguarded if unguarded > 0 else 1.0
    return ours, ratios


def spread(values):
    return f"{statistics.median(values):5.2f} ({min(values):.2f} to {max(values):.2f})"


def seeds_of(text):
    for part in text.split(","):
        first, _, last = part.partition("-")
        yield from range(int(first), int(last or first) + 1)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--gridsim", default=os.path.join(HERE, "../build/bin/gridsim"))
    parser.add_argument("--seeds", default="1-3", help="as 1-10 or 1,4,7")
    parser.add_argument("--family", action="append", choices=sorted(FAMILIES))
    parser.add_argument("--json", help="a line for each run goes to this file")
    options = parser.parse_args()
    out = open(options.json, "w") if options.json else None
    missed = 0
    print(f"{'family':18}{'mean wait / best':24}{'slowdown / best':24}{'lost / unguarded':24}"
          "share error, not done")
    for family in options.family or FAMILIES:
        seeds = list(seeds_of(options.seeds))
        results = [compare(options.gridsim, family, seed, out) for seed in seeds]
        column = {key: [r[key] for _, r in results] for key in ("wait", "slowdown", "lost")}
        error = max(ours["share_error"] for ours, _ in results)
        not_done = sum(ours["not_done"] for ours, _ in results)
        print(f"{family:18}" + "".join(f"{spread(column[k]):24}" for k in column) +
              f"{error:.3f}, {not_done}", flush=True)
        missed += not_done > 0 or any(statistics.median(column[k]) > most
                                      for k, most in TARGETS.items())
    if out:
        out.close()
    print(f"{missed} families miss a target (at most 1.05 each, every task done)")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
