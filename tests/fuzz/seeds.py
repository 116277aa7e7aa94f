#!/usr/bin/env python3
"""Makes seeds of recorded answers: seeds.py TO FOLDER...

A recorded answer stands in an envelope (tests/cluster/recorded_server.cc). A seed is what its
client gets, with the mark of its status (tests/fuzz/answers.h), and its jobs are those that fuzz
targets ask for: their tag, ids from 4 on with OAR, tasks of array 12 from 0 on with Slurm.
"""
import json
import pathlib
import sys

TAG = "cigri.7.0123456789abcdef.00112233"
MARKS = {500: "\x02", 404: "\x03", 400: "\x06", 401: "\x07"}


def ours(value, place=0):
    if isinstance(value, list):
        return [ours(item, i) for i, item in enumerate(value)]
    if not isinstance(value, dict):
        return value
    made = {key: ours(item) for key, item in value.items()}
    for key in ("name", "comment"):
        if isinstance(made.get(key), str) and made[key]:
            made[key] = TAG
    if isinstance(made.get("id"), int) and "state" in made:
        made["id"] = 4 + place
    for key, number in (("array_job_id", 12), ("job_id", 12), ("array_task_id", place)):
        if isinstance(made.get(key), dict):
            made[key]["number"] = number
        elif made.get(key):
            made[key] = number
    return made


def main():
    to = pathlib.Path(sys.argv[1])
    to.mkdir(parents=True, exist_ok=True)
    for folder in map(pathlib.Path, sys.argv[2:]):
        for path in folder.glob("*.json"):
            recorded = json.loads(path.read_text())
            answer = recorded["response"]
            status = recorded.get("status") or answer["status"]
            if "status" not in recorded:  # OAR 2.5
                answer = answer["body_text"] if "body_text" in answer else answer["body"]
            text = answer if isinstance(answer, str) else json.dumps(ours(answer))
            (to / f"{folder.name}-{path.name}").write_text(MARKS.get(status, "") + text)


if __name__ == "__main__":
    main()
