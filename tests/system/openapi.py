"""Asks a grid for every route of its /openapi.json, and checks each answer against the document.

openapi.py SOCKET CAMPAIGN FAILED: an API, a campaign whose tasks are done, one with failed tasks.
Prints "ROUTE: what differs", and ends with 1, when an answer is not as the document says.
"""
import http.client
import json
import socket
import sys
import time

import jsonschema

TRUE = {"name": "two", "nb_jobs": 3, "exec_file": "sleep 300", "clusters": {"alpha": {}}}
RULE = "if campaign.name == 'never' then reject('never') end"

# What is asked, in this order: each finds what those before it have made. {n}: the campaign that is
# done, {f}: the failed one, {j}: a job of it, {c}: the one that is submitted here; other letters:
# what earlier answers gave.
CALLS = [
    ("GET /", "/"), ("GET /openapi.json", "/openapi.json"), ("GET /me", "/me"),
    ("GET /health", "/health"), ("GET /ready", "/ready"), ("GET /metrics", "/metrics"),
    ("GET /summary", "/summary"), ("GET /grid", "/grid"),
    ("GET /incidents", "/incidents?state=open"),
    ("GET /usage", "/usage?by=user"), ("GET /gridusage", "/gridusage"),
    ("GET /clusters", "/clusters"), ("GET /clusters/{name}", "/clusters/1"),
    ("GET /clusters/{name}/why", "/clusters/alpha/why"),
    # submitting
    ("POST /campaigns", "/campaigns", TRUE, {"c": "id"}),
    ("POST /uploads", "/uploads", {}, {"u": "id"}),
    ("PUT /uploads/{id}/blocks/{block}", "/uploads/{u}/blocks/0", "x\ny\n"),
    ("GET /uploads/{id}", "/uploads/{u}"),
    ("DELETE /uploads/{id}", "/uploads/{u}"),
    ("PUT /campaigns/{id}", "/campaigns/{c}", {"state": "paused"}),
    ("POST /campaigns/{id}/jobs", "/campaigns/{c}/jobs", ["a", "b"]),
    ("POST /campaigns/{id}/boost", "/campaigns/{c}/boost", {"tasks": [4]}),
    ("PUT /campaigns/{id}", "/campaigns/{c}", {"state": "in_treatment"}),
    ("PUT /campaigns/{id}", "/campaigns/{c}", {"name": "three"}),
    ("PATCH /campaigns/{id}", "/campaigns/{c}", {"set": {"walltime": 7200}}),
    # reading
    ("GET /campaigns", "/campaigns?all=1"), ("GET /campaigns/{id}", "/campaigns/{f}"),
    ("GET /campaigns/{id}", "/campaigns/{c}?waits=1"),
    ("GET /campaigns/{id}/stats", "/campaigns/{n}/stats"),
    ("GET /campaigns/{id}/series", "/campaigns/{n}/series"),
    ("GET /campaigns/{id}/jdl", "/campaigns/{n}/jdl"),
    ("GET /campaigns/{id}/params", "/campaigns/{n}/params?state=done"),
    ("GET /campaigns/{id}/joblog", "/campaigns/{n}/joblog"),
    ("GET /campaigns/{id}/output", "/campaigns/{n}/output?stream=stdout"),
    ("GET /campaigns/{id}/results", "/campaigns/{n}/results"),
    ("GET /campaigns/{id}/progress", "/campaigns/{f}/progress"),
    ("GET /campaigns/{id}/events", "/campaigns/{f}/events"),
    ("GET /campaigns/{id}/failures", "/campaigns/{f}/failures"),
    ("GET /campaigns/{id}/why", "/campaigns/{c}/why?full=1"),
    ("GET /campaigns/{id}/why", "/campaigns/{f}/why"),
    ("GET /campaigns/{id}/why/history", "/campaigns/{n}/why/history"),
    ("GET /campaigns/{id}/jobs", "/campaigns/{f}/jobs"),
    ("GET /campaigns/{id}/jobs", "/campaigns/{c}/jobs"),
    ("GET /campaigns/{id}/jobs/finished", "/campaigns/{n}/jobs/finished"),
    ("GET /campaigns/{id}/jobs/finished", "/campaigns/{f}/jobs/finished", None,
     {"j": "items.0.id"}),
    ("GET /campaigns/{id}/jobs/{p}", "/campaigns/{n}/jobs/1"),
    ("GET /campaigns/{id}/tasks/{index}", "/campaigns/{f}/tasks/0"),
    ("GET /campaigns/{id}/tasks/{index}/why", "/campaigns/{f}/tasks/0/why"),
    ("GET /jobs/{id}", "/jobs/{j}", None, {"m": "remote_id", "l": "cluster_name"}),
    ("GET /jobs/remote", "/jobs/remote?cluster={l}&id={m}"),
    ("GET /jobs/{id}/why", "/jobs/{j}/why"),
    ("GET /jobs/{id}/stdout", "/jobs/{j}/stdout"), ("GET /jobs/{id}/stderr", "/jobs/{j}/stderr"),
    ("GET /jobs/{id}/cinfos", "/jobs/{j}/cinfos"),
    # what operators and owners answer
    ("POST /campaigns/{id}/retry", "/campaigns/{f}/retry", {"failed": True}),
    ("POST /events", "/events",
     {"class": "campaign", "code": "MANUAL_EVENT", "campaign_id": "{c}"}, {"e": "id"}),
    ("POST /events", "/events",
     {"class": "cluster", "code": "MANUAL_EVENT", "cluster_id": 2}, {"i": "id"}),
    ("GET /events", "/events"), ("GET /events/{id}", "/events/{e}"),
    ("PATCH /events/{id}", "/events/{i}", {"ack": "I call the site"}),
    ("GET /incidents", "/incidents?state=acknowledged"),
    ("DELETE /events/{id}", "/events/{e}"),
    ("DELETE /campaigns/{id}/events", "/campaigns/{c}/events"),
    ("POST /notifications/{type}", "/notifications/mail",
     {"identity": "a@b.org", "severity": "high", "campaign": "{c}"}),
    ("GET /notifications", "/notifications"),
    ("DELETE /notifications/{type}", "/notifications/mail?identity=a@b.org"),
    # administration
    ("GET /admin/audit", "/admin/audit?limit=5"), ("GET /admin/check", "/admin/check"),
    ("GET /admin/limits", "/admin/limits"),
    ("GET /admin/plans/history", "/admin/plans/history?limit=2"),
    ("GET /admin/clusters", "/admin/clusters"),
    ("POST /admin/clusters", "/admin/clusters",
     {"name": "new", "kind": "oar3", "api_url": "http://127.0.0.1:1", "api_auth_type": "jwt"},
     {"k": "id"}),
    ("GET /admin/clusters/{name}", "/admin/clusters/new"),
    ("PATCH /admin/clusters/{name}", "/admin/clusters/new", {"power": 50}),
    ("POST /admin/clusters/{name}/check", "/admin/clusters/alpha/check"),
    ("POST /tokens", "/tokens", {"cluster_id": "{k}", "token": "eyJsecret"}),
    ("GET /tokens", "/tokens"), ("DELETE /tokens/{id}", "/tokens/{k}"),
    ("POST /admin/drain", "/admin/drain", {"cluster": "new", "reason": "disks"}),
    ("POST /admin/resume", "/admin/resume", {"cluster": "new"}),
    ("POST /admin/clusters/{name}/lost", "/admin/clusters/new/lost"),
    ("DELETE /admin/clusters/{name}", "/admin/clusters/new"),
    ("PUT /admin/affinity", "/admin/affinity", {"user": "bob", "cluster": "alpha", "priority": 3}),
    ("GET /admin/affinity", "/admin/affinity"),
    ("DELETE /admin/affinity/{user}/{cluster}", "/admin/affinity/bob/alpha"),
    ("PUT /admin/members", "/admin/members", {"user": "bob", "kind": "class", "name": "short"}),
    ("GET /admin/members", "/admin/members"),
    ("DELETE /admin/members/{kind}/{name}/{user}", "/admin/members/class/short/bob"),
    ("PUT /admin/mapping", "/admin/mapping", {"user": "bob", "cluster": "alpha", "login": "b0b"}),
    ("GET /admin/mapping", "/admin/mapping"),
    ("DELETE /admin/mapping/{user}/{cluster}", "/admin/mapping/bob/alpha"),
    ("POST /admin/operators", "/admin/operators", {"name": "olga"}),
    ("GET /admin/operators", "/admin/operators"),
    ("DELETE /admin/operators/{name}", "/admin/operators/olga"),
    ("POST /admin/tokens", "/admin/tokens", {"user": "bob"}, {"t": "id"}),
    ("POST /admin/tokens/{id}/rotate", "/admin/tokens/{t}/rotate", {}),
    ("GET /admin/tokens", "/admin/tokens"), ("DELETE /admin/tokens/{id}", "/admin/tokens/{t}"),
    ("POST /admin/rules", "/admin/rules", {"name": "r", "code": RULE}),
    ("GET /admin/rules", "/admin/rules"), ("GET /admin/rules/{name}", "/admin/rules/r"),
    ("PATCH /admin/rules/{name}", "/admin/rules/r", {"mode": "off"}),
    ("GET /admin/rules/{name}/history", "/admin/rules/r/history"),
    ("POST /admin/rules/{name}/test", "/admin/rules/r/test", {"campaign": TRUE, "user": "bob"}),
    ("POST /admin/rules/{name}/trial", "/admin/rules/r/trial",
     {"code": "reject('too many')", "last": 5}),
    ("POST /admin/rules/{name}/revert", "/admin/rules/r/revert", {"version": 1}),
    ("DELETE /admin/rules/{name}", "/admin/rules/r"),
    ("POST /admin/errors", "/admin/errors", {"name": "full", "action": "retry_elsewhere"}),
    ("GET /admin/errors", "/admin/errors"), ("GET /admin/errors/{name}", "/admin/errors/full"),
    ("PATCH /admin/errors/{name}", "/admin/errors/full", {"mode": "active"}),
    ("GET /admin/errors/{name}/replay", "/admin/errors/full/replay"),
    ("DELETE /admin/errors/{name}", "/admin/errors/full"),
    ("PATCH /admin/policy", "/admin/policy", {"canary_jobs": 5}),
    ("GET /admin/policy", "/admin/policy"),
    ("GET /admin/policy/explain", "/admin/policy/explain?campaign={c}"),
    ("GET /admin/policy/lint", "/admin/policy/lint"),
    ("GET /admin/policy/history", "/admin/policy/history"),
    ("GET /admin/policy/shares", "/admin/policy/shares"),
    ("GET /admin/policy/presets", "/admin/policy/presets"),
    ("POST /admin/whatif", "/admin/whatif", {"slots": {"alpha": 2}}),
    ("GET /admin/policy/schedulers", "/admin/policy/schedulers"),
    # the end
    ("DELETE /jobs/{id}", "/jobs/{r}"),
    ("DELETE /campaigns/{id}", "/campaigns/{c}"),
]


class Connection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost", timeout=60)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(self.path)


def filled(value, known):
    """`value` with the numbers that earlier answers gave."""
    if isinstance(value, dict):
        return {key: filled(item, known) for key, item in value.items()}
    if not isinstance(value, str):
        return value
    for name, number in known.items():
        if value == "{%s}" % name:
            return number
        value = value.replace("{%s}" % name, str(number))
    return value


def ask(path, method, where, body):
    connection = Connection(path)
    headers = {"Accept": "application/json", "X-Cigri-Api": "2"}
    if isinstance(body, str):
        headers["Content-Type"] = "text/plain"
    elif body is not None:
        body, headers["Content-Type"] = json.dumps(body), "application/json"
    connection.request(method, where, body, headers)
    answer = connection.getresponse()
    kind = answer.headers.get("Content-Type", "").split(";")[0]
    text = answer.read().decode("utf-8", "replace")
    return answer.status, kind, text


def picked(answer, path):
    for step in path.split("."):
        answer = answer[int(step) if step.isdigit() else step]
    return answer


def calls(path, campaign, failed):
    """Yields (route, path, body, status, content type, text) of every call."""
    known = {"n": campaign, "f": failed}
    for route, where, *more in CALLS:
        body, takes = filled(more[0], known) if more else None, more[1] if len(more) > 1 else {}
        where = filled(where, known)
        if "{r}" in where:  # a job of the campaign that was submitted here, once there is one
            known["r"] = running_job(path, known["c"])
            where = filled(where, known)
        status, kind, text = ask(path, route.split()[0], where, body)
        yield route, where, body, status, kind, text
        for name, at in takes.items():
            try:
                known[name] = picked(json.loads(text), at)
            except (ValueError, KeyError, IndexError, TypeError):
                pass  # the answer has no row, or is no answer: its verdict says so


def running_job(path, campaign):
    end = time.monotonic() + 60
    while time.monotonic() < end:
        text = ask(path, "GET", "/campaigns/%d/jobs" % campaign, None)[2]
        jobs = [job["cigri_job_id"] for job in json.loads(text)["items"] if job["cigri_job_id"]]
        if jobs:
            return jobs[0]
        time.sleep(0.1)
    return 0


def strict(schema):
    """What is not in the document may not be in an answer either."""
    if isinstance(schema, dict):
        if "properties" in schema:
            schema.setdefault("additionalProperties", False)
        for value in schema.values():
            strict(value)
    elif isinstance(schema, list):
        for value in schema:
            strict(value)


def check(document, route, body, status, kind, text):
    """What is wrong with one answer, or with what was sent for it."""
    method, where = route.split()
    operation = document["paths"].get(where, {}).get(method.lower())
    if operation is None:
        return "the document does not have it"
    described = operation["responses"].get(str(status))
    if described is None:
        return "status %d: %s" % (status, text[:300])
    content = described.get("content", {})
    if kind not in content:
        return "its content is %s, not one of %s" % (kind, list(content))
    wanted = [(content[kind]["schema"], json.loads(text) if kind == "application/json" else text)]
    if body is not None and "requestBody" in operation:
        sent = operation["requestBody"]["content"]
        wanted.append((next(iter(sent.values()))["schema"], body))
    for schema, value in wanted:
        whole = dict(schema, components=document["components"])
        errors = sorted(jsonschema.Draft202012Validator(whole).iter_errors(value), key=str)
        if errors:
            return "; ".join("at %s: %s" % (list(e.absolute_path), e.message[:200])
                             for e in errors[:3])
    return None


def main():
    path, campaign, failed = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    document = json.loads(ask(path, "GET", "/openapi.json", None)[2])
    for schema in document["components"]["schemas"].values():
        jsonschema.Draft202012Validator.check_schema(schema)
    strict(document["components"]["schemas"])
    strict(document["paths"])
    asked, bad = set(), 0
    for route, where, body, status, kind, text in calls(path, campaign, failed):
        asked.add(route)
        fault = check(document, route, body, status, kind, text)
        if fault:
            bad += 1
            print("%s (%s): %s" % (route, where, fault))
    for where, methods in document["paths"].items():
        for method in methods:
            route = method.upper() + " " + where
            if route not in asked and not where.startswith("/page/"):
                bad += 1
                print("%s: openapi.py does not ask for it" % route)
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
