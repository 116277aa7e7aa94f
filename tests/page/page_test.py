#!/usr/bin/env python3
"""The page in Debian's Chromium, on a real grid: every view with real data, while a cluster fails and
returns. Run by `./check page`: tests/page/page_test.py [--pictures FOLDER [TEST...]]"""
import glob
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import traceback

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from browser import Browser  # noqa: E402

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("CIGRI_BUILD", os.path.join(TOP, "build"))
MOST_KB = 120


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Grid:
    """An embedded grid of its own, with the page on a TCP port."""

    def __init__(self):
        self.work = tempfile.mkdtemp(prefix="cigri-page-")
        os.chmod(self.work, 0o755)  # PostgreSQL runs as another user
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}/"
        with open(f"{self.work}/cigri.conf", "w") as conf:
            conf.write(f'API_LISTEN = "127.0.0.1:{self.port}"\n')
        self.env = {k: v for k, v in os.environ.items() if not k.startswith(("CIGRI_", "PG"))}
        self.env.update(CIGRI_HOME=f"{self.work}/home", CIGRICONFFILE=f"{self.work}/cigri.conf",
                        PATH=f"{BUILD}/bin:{os.environ['PATH']}")
        self.run("cigri", "up", "--embedded", "--slots", "alpha=3,beta=2")

    def run(self, *words, cwd=None):
        done = subprocess.run(words, env=self.env, cwd=cwd or self.work, capture_output=True, text=True,
                              timeout=120)
        assert done.returncode == 0, f"{words}: {done.stdout}{done.stderr}"
        return done.stdout

    def script(self, name, text):
        path = f"{self.work}/{name}"
        with open(path, "w") as out:
            out.write("#!/bin/sh\n" + text)
        os.chmod(path, 0o755)
        return path

    def submit(self, *words):
        out = self.run("gridsub", *words)
        return int(out.rsplit("CAMPAIGN_ID=", 1)[1])

    def token(self, user):
        return self.run("gridadmin", "token", "add", user).split()[-1]

    def get(self, path):
        out = subprocess.run(["curl", "-s", "--unix-socket", f"{self.work}/home/run/api.sock",
                              "http://grid" + path], capture_output=True, text=True, timeout=60)
        return json.loads(out.stdout)

    def process(self, name, which=""):
        """The pid of a process of this grid: ("localcluster", "alpha")."""
        for process in json.loads(self.run("cigri", "status", "--json"))["processes"]:
            if process["name"] == name and which in json.dumps(process):
                return process["pid"]
        raise AssertionError(f"no process {name} {which}")

    def processes(self, name):
        """The pids of all of that name."""
        return [p["pid"] for p in json.loads(self.run("cigri", "status", "--json"))["processes"] if p["name"] == name]

    def down(self):
        subprocess.run(["cigri", "down"], env=self.env, capture_output=True, timeout=120)
        shutil.rmtree(self.work, ignore_errors=True)


class Page:
    """What the tests share: one grid, one browser, logged in as root."""

    def __init__(self, pictures):
        self.pictures = pictures
        self.grid = Grid()
        self.browser = Browser()
        self.axe = open(f"{BUILD}/page/node_modules/axe-core/axe.min.js").read()
        self.token = self.grid.token("root")

    def view(self, hash_, text):
        self.browser.go(self.grid.url + hash_)
        self.browser.await_text(text)

    def log_in(self, token):
        self.browser.await_text("You are nobody here")
        self.browser.type("input[type=password]", token)
        self.browser.click("Log in")

    def log_out(self):
        self.browser.go(self.grid.url)
        self.browser.run("sessionStorage.clear()")
        self.browser.go("about:blank")
        self.browser.go(self.grid.url)

    def check_access(self, what):
        """No finding of axe-core (WCAG 2.2 AA and best practice), light and dark."""
        for dark in (False, True):
            self.browser.dark(dark)
            self.browser.cdp("Runtime.evaluate", expression=self.axe)
            found = self.browser.run_async(
                "const done = arguments[arguments.length - 1]; axe.run(document, {runOnly: ['wcag2a', "
                "'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']}).then((r) => "
                "done(r.passes.length < 10 ? ['axe did not look'] : r.violations.map((v) => v.id + ': ' + v.nodes.map((n) => n.html.slice(0, 200) + "
                "' ' + n.failureSummary).join(' | '))))")
            assert not found, f"{what}, {'dark' if dark else 'light'}: " + "\n".join(found)
        self.browser.dark(False)

    def check_phone(self, what):
        self.browser.size(400, 800, mobile=True)
        wide = self.browser.run("return document.documentElement.scrollWidth")
        self.browser.size(1280, 900)
        assert wide <= 400, f"{what} is {wide} px wide on a phone of 400"

    def picture(self, name):
        if self.pictures:
            self.browser.picture(f"{self.pictures}/{name}.png")

    def check_view(self, name):
        self.check_access(name)
        self.check_phone(name)
        self.picture(name)

    def close(self):
        self.browser.close()
        self.grid.down()


def the_page_is_small(page):
    size = sum(os.path.getsize(f) for f in glob.glob(f"{BUILD}/web/*.br"))
    assert 0 < size <= MOST_KB * 1000, f"{size} bytes compressed"


def without_a_registry_the_build_goes_on_without_the_page(page):
    with open(f"{TOP}/web/package-lock.json") as lock:
        assert "resolved" not in lock.read(), "an address to download from, in place of the user's registry"
    with tempfile.TemporaryDirectory() as folder:
        env = {**os.environ, "npm_config_registry": "http://127.0.0.1:1/", "npm_config_cache": f"{folder}/cache",
               "npm_config_fetch_retry_mintimeout": "1", "npm_config_fetch_retry_maxtimeout": "1"}
        done = subprocess.run(["bash", f"{TOP}/scripts/page.sh", "--into", folder], env=env, capture_output=True,
                              text=True, timeout=120)
    assert done.returncode == 69, done
    assert done.stdout.startswith("no page: npm ci failed; without it the API serves the tools"), done


# How people without cones of one kind see a colour: Machado, Oliveira and Fernandes 2009, severity 1.
SIGHT = {"all cones": [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
         "no red": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
         "no green": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
         "no blue": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]]}


def lab(colour, sight):
    """CIE L*a*b* (D65) of "#rrggbb" as it is seen."""
    rgb = [int(colour[i:i + 2], 16) / 255 for i in (1, 3, 5)]
    rgb = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in rgb]
    rgb = [min(1, max(0, sum(a * b for a, b in zip(row, rgb)))) for row in sight]
    xyz = [sum(a * b for a, b in zip(row, rgb)) for row in
           ((0.4339, 0.3762, 0.1899), (0.2126, 0.7152, 0.0722), (0.0177, 0.1095, 0.8728))]
    x, y, z = (c ** (1 / 3) if c > 0.008856 else 7.787 * c + 16 / 116 for c in xyz)
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


def states_differ_for_the_colour_blind(page):
    names = ["done", "run", "queue", "fail", "wait"]
    for dark in (False, True):
        page.browser.dark(dark)
        colours = page.browser.run("const style = getComputedStyle(document.documentElement); return " + json.dumps(names) +
                                   ".map((name) => style.getPropertyValue('--' + name).trim())")
        for who, sight in SIGHT.items():
            seen = dict(zip(names, (lab(colour, sight) for colour in colours)))
            for one in names:
                for other in names[:names.index(one)]:
                    difference = sum((a - b) ** 2 for a, b in zip(seen[one], seen[other])) ** 0.5
                    assert difference > 12, f"{one} and {other} differ by {difference:.0f} with {who}, dark {dark}"
    page.browser.dark(False)


def nobody_sees_a_log_in_and_no_data(page):
    b = page.browser
    b.go(page.grid.url + "#/c/1")
    b.await_text("You are nobody here")
    page.check_view("log-in")
    b.type("input[type=password]", "cigri_no_token")
    b.click("Log in")
    b.await_text("does not know this token")
    page.log_in(page.token)
    b.await_text("operator")


def a_new_user_is_shown_how_to_begin(page):
    page.view("#/", "You have no campaigns")


def a_submission_is_tried_before_it_is_made(page):
    b = page.browser
    page.view("#/new", "what would happen")
    b.type("textarea[spellcheck]", '{"name": "x",\n "exec_file": "true",\n "clusters": {"alfa": {}}}')
    b.await_text("line 3, column")
    page.grid.script("slow.sh", "i=0; while [ $i -lt 6000 ]; do echo line $i of $1; i=$((i+1)); sleep 0.2; done\n")
    b.type("textarea[spellcheck]", json.dumps({
        "name": "followed", "exec_file": f"{page.grid.work}/slow.sh", "exec_directory": page.grid.work,
        "clusters": {"alpha": {}, "beta": {}}, "params": ["one", "two"]}, indent=2))
    b.await_text("It would be taken: 2 tasks")
    page.check_view("submit")
    assert page.grid.get("/campaigns?all=1")["total"] == 0, "a dry run submitted"
    b.run("""const real = window.fetch; window.fetch = async (path, how) => {
        if (how.method === 'GET' || path.includes('dry_run')) return real(path, how);
        window.fetch = real;
        await real(path, how);
        throw new TypeError('the answer is lost'); };""")
    b.click("Submit 2 tasks")
    b.click("Submit 2 tasks", "dialog[open]")
    b.await_text("Press again: it is done once")
    b.click("Submit 2 tasks", "dialog[open]")
    b.await_text("followed")
    b.await_("location.hash === '#/c/1'", "the campaign's own view")
    assert page.grid.get("/campaigns?all=1")["total"] == 1, "it is submitted once"


def a_parameter_file_goes_up_in_blocks(page):
    b = page.browser
    page.view("#/new", "what would happen")
    b.type("textarea[spellcheck]", json.dumps({
        "name": "file", "exec_file": "true", "clusters": {"beta": {}}, "nb_jobs": 1}))
    b.await_text("It would be taken: 1 task")
    b.run("""const lines = Array.from({length: 2500}, (_, i) => 'p' + i + '\\\\x').join('\\n');
        const files = new DataTransfer(); files.items.add(new File([lines], 'params.txt'));
        const input = document.querySelector('input[type=file]'); input.files = files.files;
        input.dispatchEvent(new Event('change', {bubbles: true}));""")
    b.await_text("2\u202f500 parameters are on the server")
    b.await_text("It would be taken: 2\u202f500 tasks")
    b.await_text("true p0\\x")


def the_output_of_a_running_task_is_followed(page):
    b = page.browser
    page.view("#/c/1/t/0", "Task 0 of")
    b.await_text("line 3 of one")
    b.await_text("line 15 of one")
    page.check_view("task")


def failures_are_one_row_and_one_button_runs_them_again(page):
    b, grid = page.browser, page.grid
    grid.script("fail.sh", f"sleep 0.1; [ -e {grid.work}/fixed ] && exit 0; [ $1 -lt 4 ] && exit 0\n"
                           "echo 'No such file: /scratch/in.dat' >&2; exit 2\n")
    id_ = grid.submit("--", "./fail.sh", "{}", ":::", *map(str, range(12)))
    page.view(f"#/c/{id_}", "fail.sh")
    b.await_text("No such file: /scratch/in.dat", 60)
    b.await_text("Run 8 failed tasks again", 90)
    b.await_text("1 cause")
    page.check_view("campaign")
    open(f"{grid.work}/fixed", "w").close()
    b.click("Run 8 again")
    b.click("Run 8 failed tasks again", "dialog[open]")
    b.await_text("8 tasks will run again")
    b.await_text("12 done", 90)
    b.await_gone("1 cause")


def an_expected_end_is_shown_with_how_often_such_ones_held(page):
    b, grid = page.browser, page.grid
    id_ = grid.submit("--", "sleep", "{}", ":::", *["1"] * 40)
    page.view(f"#/c/{id_}", "Where it runs")
    b.await_("/such intervals held for \\d+ of the last \\d+ campaign|no such interval has come true or failed yet/"
             ".test(document.body.innerText)", "how often an expected interval held", 60)
    b.await_text("40 done", 90)


def an_act_without_an_answer_is_not_said_to_be_repeated(page):
    b, grid = page.browser, page.grid
    id_ = grid.submit("--name", "unanswered", "--", "sleep", "{}", ":::", "300")
    page.view(f"#/c/{id_}", "Where it runs")
    b.run("""const real = window.fetch; window.fetch = (path, how) => {
        if (how.method === 'GET') return real(path, how);
        window.fetch = real;
        return Promise.reject(new TypeError('the connection is lost')); };""")
    b.click("Hold")
    b.click("Hold this campaign", "dialog[open]")
    b.await_text("No answer came: it may be done, or not")
    assert "asks again" not in b.text(), "nothing repeats it"
    b.click("Leave it", "dialog[open]")
    grid.run("griddel", str(id_))


def a_cluster_that_fails_is_shown_and_so_is_its_return(page):
    b, grid = page.browser, page.grid
    id_ = grid.submit("--", "sleep", "{}", ":::", *["200"] * 8)
    page.view(f"#/c/{id_}", "Where it runs")
    b.await_("/[1-9] running/.test(document.body.innerText)", "jobs that run", 60)
    with socket.socket(socket.AF_UNIX) as silent:  # it takes connections, and nobody answers
        silent.bind(f"{grid.work}/silent")
        silent.listen(64)
        grid.run("gridadmin", "cluster", "set", "alpha", f"api_url=unix:{grid.work}/silent")
        b.await_text("unreachable", 120)
        b.await_text("alpha does not answer", 60)
        page.check_view("cluster-away")
        grid.run("gridadmin", "cluster", "set", "alpha", f"api_url=unix:{grid.work}/home/run/alpha.grid")
    b.await_gone("unreachable", 120)
    b.await_text("live")
    b.click("Hold")
    b.click("Hold this campaign", "dialog[open]")
    b.await_text("Held.")
    b.await_text("paused")
    b.click("Cancel...")
    b.click("Cancel this campaign", "dialog[open]")
    b.await_text("Cancelled.")
    b.await_text("cancelled", 60)


def what_does_not_move_waits_at_the_api(page):
    b, grid = page.browser, page.grid
    over = grid.get("/campaigns?state=terminated")["items"][0]["id"]
    for view, path in (("#/?state=terminated", "/campaigns?"), (f"#/c/{over}", f"/campaigns/{over}?"),
                       (f"#/c/{over}/t/0", f"/campaigns/{over}/tasks/0?"), ("#/grid", "/grid?"),
                       ("#/incidents", "/incidents?"),
                       ("#/rules", "/admin/rules?"), ("#/audit", "/admin/audit?")):
        b.go("about:blank")
        b.go(grid.url + view)
        asked = ("performance.getEntriesByType('resource').filter((r) => r.name.includes(" +
                 json.dumps(path) + "))")
        b.await_(asked + ".some((r) => r.responseStatus === 304 && r.duration > 7500)",
                 f"{view}: a request that waits for news", 60)
    b.run("performance.clearResourceTimings()")
    grid.token("carol")
    b.await_text("carol", 10)


def the_address_is_the_state(page):
    b = page.browser
    page.view("#/", "My campaigns")
    b.await_text("followed")
    page.check_view("campaigns")
    b.type("input[type=search]", "fail")
    b.run("document.querySelector('form[role=search]').requestSubmit()")
    b.await_gone("followed")
    b.await_("location.hash === '#/?q=fail'", "the filter in the address")
    b.call("POST", b.session + "/refresh")
    b.await_text("fail.sh")
    assert "followed" not in b.text()
    b.go(page.grid.url + "#/?q=nothing-like-this")
    b.await_text("None matches")
    b.go(page.grid.url + "#/c/9999")
    b.await_text("campaign 9999 does not exist")


def operators_see_the_grid_and_drain_a_cluster(page):
    b, grid = page.browser, page.grid
    id_ = grid.submit("--name", "wide", "--", "sleep", "{}", ":::", *["300"] * 20)
    page.view("#/grid", "Slots")
    b.await_text(f"{id_} wide, root")
    b.await_text("campaign waits for it")
    page.check_view("grid")
    b.run("[...document.querySelectorAll('tr')].find((r) => r.cells[0].innerText === 'beta')"
          ".querySelector('button').click()")
    b.await_("document.querySelector('dialog[open]')", "a dialogue")
    b.type("dialog[open] input[name=reason]", "new switch")
    b.click("Drain beta", "dialog[open]")
    b.await_text("beta is drained: no submission can start any more")
    b.await_text("drained by root")
    assert grid.get("/clusters/beta")["drain_reason"] == "new switch"
    page.view("#/incidents", "new switch")
    b.click("Take it")
    b.await_("document.querySelector('dialog[open]')", "a dialogue")
    b.type("dialog[open] input[name=note]", "I change it at noon")
    b.run("document.querySelector('dialog[open] form').requestSubmit()")
    b.await_text("I change it at noon")
    b.await_text("acknowledged")
    page.check_view("incidents")
    page.view("#/grid", "Slots")
    b.click("Resume")
    b.click("Resume beta", "dialog[open]")
    b.await_text("beta is resumed")
    page.view("#/incidents?state=closed", "closed by root")


def operators_see_what_a_change_would_bring(page):
    b, grid = page.browser, page.grid
    id_ = grid.submit("--name", "asked", "--", "sleep", "{}", ":::", *["30"] * 200)
    page.view("#/whatif?cluster=alpha&more=20", "Nothing is changed")
    end = time.monotonic() + 60  # until a decision with this campaign has been stored
    while f"\n{id_}\t" not in b.text() and time.monotonic() < end:
        b.click("Simulate")
        b.await_gone("simulating")
    b.await_text("earlier")
    b.await_text("What is assumed")
    page.check_view("whatif")
    page.view("#/whatif?without=beta", "Nothing is changed")
    b.click("Simulate")
    b.await_text("later")
    grid.run("griddel", str(id_))


def operators_see_what_is_due_and_had(page):
    page.view("#/shares", "Our jobs had")
    page.browser.await_text("100.0 %")
    page.check_view("shares")


def a_rule_is_tried_on_past_campaigns_before_it_is_saved(page):
    b = page.browser
    page.view("#/rules", "walltime-cap")
    page.check_access("rules")
    page.view("#/rules/walltime-cap", "what this text would have done")
    b.type("textarea", 'if campaign.name == "wide" then reject("no wide ones") end')
    b.click("Try it on the last 50 campaigns")
    b.await_text("it would have refused 1")
    b.await_text("no wide ones")
    page.check_view("rule")
    assert page.grid.get("/admin/rules/walltime-cap")["version"] == 1, "a trial saved the rule"
    b.type("textarea", "if if")
    b.click("Try it on the last 50 campaigns")
    b.await_text("does not compile")
    b.type("textarea", "-- nothing")
    b.click("Save")
    b.click("Save walltime-cap", "dialog[open]")
    b.await_text("Saved as version 2")


def the_audit_says_who_changed_what(page):
    b = page.browser
    page.view("#/audit", "Who changed what")
    b.await_text("rule walltime-cap")
    page.check_view("audit")
    page.view("#/audit?subject=cluster+beta", "new switch")
    assert "rule walltime-cap" not in b.text(), "the filter of the address counts"
    b.type("input[name=user]", "nobody")
    b.click("Show")
    b.await_text("None matches")


def the_api_is_described(page):
    b = page.browser
    page.view("#/api", "GET /campaigns/{id}/why?full")
    b.await_text("why it waits, and what to do")
    page.check_view("api")
    page.view("#/api?q=incident", "GET /incidents?state&before&limit")
    assert "GET /usage" not in b.text()


VALIDATE = """import { Validator } from '@seriousme/openapi-schema-validator';
import { readFileSync } from 'node:fs';
const found = await new Validator().validate(JSON.parse(readFileSync(0)));
console.log(JSON.stringify(found.valid ? [] : found.errors, null, 1));"""


def validate(document):
    """What the schema of OpenAPI 3.1 has against the document; [] when it is valid."""
    done = subprocess.run(["node", "--input-type=module", "-e", VALIDATE], cwd=f"{BUILD}/page",
                          input=json.dumps(document), capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def the_whole_openapi_document_is_valid(page):
    document = page.grid.get("/openapi.json")
    found = validate(document)
    assert not found, json.dumps(found, indent=1)[:3000]
    operations = [o for methods in document["paths"].values() for o in methods.values()]
    ids = [o["operationId"] for o in operations]
    assert len(set(ids)) == len(ids), "two operations have the same id"
    del operations[0]["responses"]["default"]["description"]
    assert validate(document), "the validator finds nothing"


def operators_views_are_absent_for_others(page):
    b = page.browser
    page.log_out()
    page.log_in(page.grid.token("bob"))
    b.await_text("My campaigns")
    assert "Incidents" not in b.text()
    b.go(page.grid.url + "#/grid")
    b.await_text("Nothing is at this address")
    page.log_out()
    page.log_in(page.token)
    b.await_text("operator")


def keys_do_what_the_list_of_keys_says(page):
    b = page.browser
    page.view("#/?state=terminated", "fail.sh")
    b.press("j", "\ue007")
    b.await_("location.hash.startsWith('#/c/')", "Enter opens the row")
    b.press("u")
    b.await_("location.hash === '#/'", "u goes up")
    b.press("g", "n")
    b.press("n")
    b.await_("location.hash === '#/new'", "n submits")
    b.press("g", "m")
    b.await_("location.hash === '#/'", "g m shows campaigns")
    b.press("/")
    b.await_("document.activeElement.type === 'search'", "/ finds")
    b.press("n", "?")
    assert b.run("return location.hash") == "#/", "a key acted in a field"
    b.run("document.activeElement.blur()")
    b.press("?")
    b.await_("document.querySelector('dialog[open]')?.innerText.includes('next and previous')", "keys")
    page.check_access("keys")
    b.press("\ue00c")
    b.await_("!document.querySelector('dialog[open]')", "Esc closes")


def what_is_shown_can_be_saved(page):
    b = page.browser
    folder = f"{page.grid.work}/saved"
    os.makedirs(folder, exist_ok=True)
    b.cdp("Browser.setDownloadBehavior", behavior="allow", downloadPath=folder)
    page.grid.submit("--name", '=1+1"x', "--", "true", "{}", ":::", "1")
    page.view("#/", '=1+1"x')
    b.click("CSV")
    b.click("JSON")
    end = time.monotonic() + 20
    while len(glob.glob(f"{folder}/campaigns.*[nv]")) < 2 and time.monotonic() < end:
        time.sleep(0.1)
    lines = open(f"{folder}/campaigns.csv").read().splitlines()
    assert lines[0].startswith('"id","name","user","state"'), lines[0]
    assert any('"\'=1+1""x"' in line for line in lines), "a formula would run in a spreadsheet"
    assert len(json.load(open(f"{folder}/campaigns.json"))) == len(lines) - 1


def paper_has_the_data_and_no_buttons(page):
    b = page.browser
    page.view("#/c/1", "followed")
    b.cdp("Emulation.setEmulatedMedia", media="print")
    buttons = b.run("return [...document.querySelectorAll('button, nav')].filter((e) => "
                    "e.offsetParent !== null).length")
    b.cdp("Emulation.setEmulatedMedia", media="")
    assert buttons == 0, f"{buttons} buttons are printed"


def others_see_numbers_and_nothing_else(page):
    b = page.browser
    page.log_out()
    page.log_in(page.grid.token("bob"))
    b.await_text("You have no campaigns")
    page.view("#/c/1", "followed")
    b.await_text("2 running")
    text = b.text()
    assert "Cancel" not in text and "Hold" not in text, text
    assert "one" not in [cell.strip() for cell in text.split("\t")], "bob sees parameters"
    b.go(page.grid.url + "#/c/1/t/0")
    b.await_text("are its owner's")
    assert "line 3 of one" not in b.text()
    b.complaints()  # the refusals
    page.log_out()
    page.log_in(page.token)
    b.await_text("operator")


def old_numbers_do_not_look_fresh(page):
    b = page.browser
    page.view("#/", "live")
    # An almighty that runs would replace an API that is stopped.
    pids = page.grid.processes("almighty") + [page.grid.process("api")]
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    try:
        b.await_text("no news", 60)
        assert "followed" in b.text(), "what was known has gone"
    finally:
        for pid in reversed(pids):
            os.kill(pid, signal.SIGCONT)
    b.await_text("live", 60)


TESTS = [the_page_is_small, without_a_registry_the_build_goes_on_without_the_page,
         nobody_sees_a_log_in_and_no_data, states_differ_for_the_colour_blind, a_new_user_is_shown_how_to_begin,
         a_submission_is_tried_before_it_is_made, a_parameter_file_goes_up_in_blocks,
         the_output_of_a_running_task_is_followed,
         failures_are_one_row_and_one_button_runs_them_again,
         an_expected_end_is_shown_with_how_often_such_ones_held,
         what_does_not_move_waits_at_the_api, the_address_is_the_state,
         an_act_without_an_answer_is_not_said_to_be_repeated,
         a_cluster_that_fails_is_shown_and_so_is_its_return, keys_do_what_the_list_of_keys_says,
         operators_see_the_grid_and_drain_a_cluster, operators_see_what_a_change_would_bring,
         operators_see_what_is_due_and_had,
         a_rule_is_tried_on_past_campaigns_before_it_is_saved, the_audit_says_who_changed_what,
         the_api_is_described, the_whole_openapi_document_is_valid, operators_views_are_absent_for_others,
         what_is_shown_can_be_saved, paper_has_the_data_and_no_buttons,
         others_see_numbers_and_nothing_else, old_numbers_do_not_look_fresh]
LOG_IN = [nobody_sees_a_log_in_and_no_data]
# The browser reports each answer of 4xx as an error of the page; a test that wants one says so.
WANTED = ("status of 400", "status of 403", "status of 404", "status of 409", "status of 503", "net::ERR")


def main():
    pictures = sys.argv[2] if sys.argv[1:2] == ["--pictures"] else None
    only = sys.argv[3:]
    if pictures:
        os.makedirs(pictures, exist_ok=True)
    page, failed = Page(pictures), 0
    try:
        for test in [t for t in TESTS if not only or t.__name__ in only or t in LOG_IN]:
            began = time.monotonic()
            try:
                test(page)
                complaints = [c for c in page.browser.complaints() if not any(w in c for w in WANTED)]
                assert not complaints, "the browser's console: " + "\n".join(complaints)
                print(f"passed {test.__name__} {time.monotonic() - began:.1f} s", flush=True)
            except Exception:  # the next tests still say something
                failed += 1
                print(f"failed {test.__name__}\n{traceback.format_exc(limit=-2)}", flush=True)
    finally:
        page.close()
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
