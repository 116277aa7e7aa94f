"""Run Python functions and programs on a CiGri grid.

    import cigri

    def square(x):
        return x * x

    if __name__ == "__main__":
        with cigri.Grid() as grid:
            for y in grid.map(square, range(1000)):
                print(y)

One file, standard library only; docs/python.md describes it. As with multiprocessing, a script that
defines functions for the grid keeps its own work below `if __name__ == "__main__"`.
"""
import os
import sys
from binascii import a2b_base64, b2a_base64

try:
    import _pickle as pickle  # all that a job needs: the rest takes a third of its start
except ImportError:
    import pickle


def _run_task(call, item):
    """In a job: runs one call, and writes its outcome to what was standard output."""
    out = os.dup(1)
    os.dup2(2, 1)  # what the function prints belongs to stderr: stdout carries the outcome
    try:
        path, main, directory, function = pickle.loads(_load(call))
        sys.path[:] = path
        sys.modules["cigri"] = _Later("cigri")
        os.chdir(directory)
        if main:
            _import_main(main)
        function = pickle.loads(function)
        args, kwargs = pickle.loads(_load(item))
        outcome = (True, function(*args, **kwargs))
        data = pickle.dumps(outcome, -1)
    except BaseException as error:  # whatever it is, the caller gets it
        data = _pickled_error(error)
    with os.fdopen(out, "wb") as file:
        file.write(data)
    sys.stdout.flush()
    sys.stderr.flush()


def _load(text):
    if text.startswith("@"):
        with open(text[1:], "rb") as file:
            return file.read()
    return a2b_base64(text)


def _import_main(path):
    """The caller's script under its own name, but without what stands below __main__."""
    module = type(sys)("__mp_main__")
    module.__file__ = sys.argv[0] = path
    sys.modules["__main__"] = sys.modules["__mp_main__"] = module
    with open(path, "rb") as file:
        code = compile(file.read(), path, "exec")
    module._cigri_imports = True  # a Grid that is made meanwhile is refused
    exec(code, module.__dict__)
    del module._cigri_imports


class _Later(type(sys)):
    """This module in a job, loaded when something of it is used: a script imports it at its top and
    uses it below __main__. All of it takes twice as long as the start of Python."""

    def __getattr__(self, name):
        if sys.modules.get("cigri") is self:
            del sys.modules["cigri"]
        import cigri
        self.__dict__.update(cigri.__dict__)
        return getattr(cigri, name)


def _pickled_error(error):
    import traceback
    text = "".join(traceback.format_exception(type(error), error, error.__traceback__))
    try:
        data = pickle.dumps((False, error, text))
        pickle.loads(data)
        return data
    except Exception:  # an exception that cannot travel: its text can
        return pickle.dumps((False, RuntimeError("%s: %s" % (type(error).__name__, error)), text))


if __name__ == "__main__":
    _run_task(sys.argv[1], sys.argv[2])
    sys.exit(0)

# A job needs nothing of what follows, and compiles no more than what stands above: _worker().
import collections  # noqa: E402
import concurrent.futures  # noqa: E402
import http.client  # noqa: E402
import itertools  # noqa: E402
import json  # noqa: E402
import pickle  # noqa: E402
import re  # noqa: E402
import select  # noqa: E402
import shlex  # noqa: E402
import shutil  # noqa: E402
import socket  # noqa: E402
import tempfile  # noqa: E402
import threading  # noqa: E402
import time  # noqa: E402
import urllib.parse  # noqa: E402
import warnings  # noqa: E402

__all__ = ["Grid", "Campaign", "TaskResult", "TaskFailed", "RemoteTraceback", "ApiError",
           "as_completed", "wait"]

as_completed = concurrent.futures.as_completed
wait = concurrent.futures.wait

_BLOCK_LINES, _BLOCK_BYTES, _LINE_BYTES = 1000, 1 << 20, 90_000
_PATIENCE_S = 60
_KEPT_S = 4  # less than the API keeps a connection that asks nothing
_SITE_SOCKET, _SITE_CONF = "/run/cigri/api.sock", "/etc/cigri/cigri.conf"


class ApiError(Exception):
    """The grid has refused a request, or does not answer."""


class RemoteTraceback(Exception):
    """The cause of an exception that a function raised in a job: its traceback there."""

    def __init__(self, text):
        super().__init__("\n" + text)


class TaskFailed(Exception):
    """A job ended without an outcome: killed, out of memory, over its walltime."""


class TaskResult:
    """How one task of a campaign ended, and what it printed."""

    def __init__(self, frame, stdout, stderr):
        self.task = frame["task"]
        self.values = frame["values"]
        self.ok = frame["state"] == "done"
        self.exit, self.signal, self.code = frame["exit"], frame["signal"], frame["code"]
        self.cluster, self.node = frame["cluster"], frame["node"]
        self.seconds, self.attempts = frame["seconds"], frame["attempts"]
        self.stdout, self.stderr = stdout, stderr

    def __repr__(self):
        how = "done" if self.ok else "failed, %s" % (self.code or "exit %d" % self.exit)
        return "<TaskResult %d %s: %s>" % (self.task, self.values, how)


# ---------------------------------------------------------------- the API


class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, path, timeout):
        super().__init__("localhost", timeout=timeout)
        self._path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


def _default_address():
    if os.environ.get("CIGRI_API"):
        return os.environ["CIGRI_API"]
    home = os.environ.get("CIGRI_HOME")
    if not home and os.geteuid() == 0:
        home = "/var/lib/cigri"
    if not home:
        state = os.environ.get("XDG_STATE_HOME") or os.path.expanduser("~/.local/state")
        home = os.path.join(state, "cigri")
    own = os.path.join(home, "run", "api.sock")
    # Its socket is missing while its API does not run.
    site = os.path.exists(_SITE_SOCKET) or (
        not os.environ.get("CIGRICONFFILE") and os.path.exists(_SITE_CONF))
    return "unix:" + (_SITE_SOCKET if site and not os.path.exists(own) else own)


def _tls():
    """What checks the server's certificate: the system's authorities and that of $CIGRI_CA."""
    import ssl  # most grids are a socket of this machine: it takes as long as all other modules
    context = ssl.create_default_context()
    authority = os.environ.get("CIGRI_CA")
    if authority:
        try:
            context.load_verify_locations(authority)
        except (OSError, ssl.SSLError) as error:
            raise ApiError("$CIGRI_CA, %s, has no certificate: %s" % (authority, error)) from error
    return context


class _Api:
    """One connection for each thread; a GET is asked again for a minute while the API is away."""

    def __init__(self, address):
        named = "the address" if address else "$CIGRI_API"
        self.address = address or _default_address()
        if "," in self.address or not re.match("/|unix:|https?://", self.address):
            raise ApiError("%s, %r, is none that Python takes: one of unix:/PATH, http://HOST:PORT "
                           "and https://HOST; the socket of an ssh://HOST comes by `ssh -N -L "
                           "/MY/api.sock:/run/cigri/api.sock HOST`, then it is unix:/MY/api.sock"
                           % (named, self.address))
        self._local = threading.local()
        self._tls = _tls() if self.address.startswith("https:") else None

    def _connect(self, timeout=120):
        address = self.address
        if address.startswith("/"):
            return _UnixConnection(address, timeout), ""
        if address.startswith("unix:"):
            return _UnixConnection(address[5:], timeout), ""
        url = urllib.parse.urlsplit(address)
        base = url.path.rstrip("/")
        if url.scheme == "https":
            return http.client.HTTPSConnection(url.hostname, url.port, timeout=timeout,
                                               context=self._tls), base
        return http.client.HTTPConnection(url.hostname, url.port, timeout=timeout), base

    def open(self, method, path, body=None, headers=None):
        """The response, unread. Raises ApiError for a refusal."""
        headers = dict(headers or {}, Accept="application/json")
        headers["X-Cigri-Api"] = "2"  # below API_BASE others get CiGri 3's answers
        if os.environ.get("CIGRI_TOKEN"):
            if not self._private():
                raise ApiError("$CIGRI_TOKEN is not sent to %s: anybody on the way could read it; "
                               "use https://" % self.address)
            headers["Authorization"] = "Bearer " + os.environ["CIGRI_TOKEN"]
        end = time.monotonic() + _PATIENCE_S
        while True:
            connection = self._kept() or self._connect()
            try:
                connection[0].request(method, connection[1] + path, body, headers)
                response = connection[0].getresponse()
                self._local.connection, self._local.answered = connection, time.monotonic()
                if response.status not in (429, 503) or time.monotonic() > end:
                    break
                response.read()
            except (OSError, http.client.HTTPException) as error:
                connection[0].close()
                if type(error).__name__ == "SSLCertVerificationError":
                    raise ApiError("the certificate of %s is not to be trusted: %s; name that of its "
                                   "authority in $CIGRI_CA when it is your site's own"
                                   % (self.address, error.verify_message)) from error
                refused = isinstance(error, (FileNotFoundError, ConnectionRefusedError))
                if not refused and method not in ("GET", "PUT"):
                    raise ApiError("the API at %s broke off: %s" % (self.address, error)) from error
                if time.monotonic() > end or (refused and not self._answered()):
                    raise ApiError("no API at %s: %s; start a grid with `cigri up`"
                                   % (self.address, error)) from error
            time.sleep(0.25)
        self._seen = True
        if response.status >= 400:
            self._refuse(method + " " + path, response)
        return response

    def _private(self):
        """Whether nobody else can read what goes to the API."""
        url = urllib.parse.urlsplit(self.address)
        return url.scheme != "http" or url.hostname in ("localhost", "127.0.0.1", "::1")

    def _answered(self):
        return getattr(self, "_seen", False)

    @staticmethod
    def _refuse(what, response):
        text = response.read().decode("utf-8", "replace")
        try:
            body = json.loads(text)
        except ValueError:
            body = {"message": text}
        message = body.get("message") or body.get("title") or "HTTP %d" % response.status
        for fault in body.get("faults") or []:
            message += "\n  %s: %s" % (fault.get("key", ""), fault.get("message", ""))
        if body.get("hint"):
            message += " (%s)" % body["hint"]
        raise ApiError("%s: %s" % (what.split("?")[0], message))

    def call(self, method, path, body=None, headers=None):
        if body is not None and not isinstance(body, (str, bytes)):
            body = json.dumps(body)
        if isinstance(body, str):
            body = body.encode()
        headers = dict({"Content-Type": "application/json"} if body is not None else {},
                       **(headers or {}))
        return json.loads(self.open(method, path, body, headers).read())

    def _kept(self):
        """This thread's connection, unless the API has closed it or is about to: a POST that breaks
        off is not sent again, since nobody knows whether it was read."""
        kept, self._local.connection = getattr(self._local, "connection", None), None
        if kept is None or kept[0].sock is None:
            return kept
        ended = select.poll()  # readable before anything was asked: that is its end
        ended.register(kept[0].sock, select.POLLIN)
        if time.monotonic() - self._local.answered > _KEPT_S or ended.poll(0):
            kept[0].close()
            return None
        return kept

    def take(self):
        """This thread's connection, for as long as an answer is read from it: what is asked
        meanwhile has another one."""
        connection, self._local.connection = self._local.connection, None
        return connection

    def give_back(self, connection):
        self._local.connection, self._local.answered = connection, time.monotonic()


def _encode_line(values):
    line = json.dumps(values, ensure_ascii=False).replace("\\", "\\\\") + "\n"
    raw = line.encode("utf-8", "surrogateescape")  # names as os.listdir gives them
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return "".join("\\x%02X" % c if c > 127 else chr(c) for c in raw)


def _upload(api, rows):
    """Sends rows of values in blocks; the number of the upload."""
    upload = api.call("POST", "/uploads", {})["id"]
    block, size, number = [], 0, 0

    def put():
        nonlocal block, size, number
        api.call("PUT", "/uploads/%d/blocks/%d" % (upload, number), "".join(block),
                 {"Content-Type": "text/plain", "X-Cigri-Lines": str(len(block))})
        block, size, number = [], 0, number + 1

    for row in rows:
        line = _encode_line(row)
        if block and (len(block) == _BLOCK_LINES or size + 2 * len(line) > _BLOCK_BYTES):
            put()
        block.append(line)
        size += len(line.encode())
    if block:
        put()
    return upload


class Campaign:
    """A campaign on the grid."""

    def __init__(self, api, number):
        self._api, self.id = api, number

    def __repr__(self):
        return "<Campaign %d>" % self.id

    def progress(self, wait_s=0, seen=""):
        """Numbers of now: done, failed, running, total, over ... (GET /campaigns/N/progress)."""
        return self._api.call("GET", "/campaigns/%d/progress?wait=%d&seen=%s" % (
            self.id, wait_s * 1000, urllib.parse.quote(str(seen), safe="")))

    def wait(self):
        """Waits for the end; the last progress, with `ok`: every task is done."""
        seen = ""
        while True:
            progress = self.progress(10, seen)
            seen = progress["token"]
            if progress["over"]:
                progress["ok"] = (progress["state"] == "terminated"
                                  and progress["done"] >= progress["total"])
                return progress

    def cancel(self):
        """Cancels it and kills its jobs. No error when it is over already."""
        try:
            self._api.call("DELETE", "/campaigns/%d" % self.id)
        except ApiError:
            if not self.progress()["over"]:
                raise

    def results(self, in_order=False):
        """Yields a TaskResult for each task as it ends (or in the order of the tasks)."""
        follow = _Follow(self._api, self.id)
        seen, over = "", False
        while not over:
            progress = self.progress(10, seen)
            seen, over = progress["token"], progress["over"]
            yield from follow.fetch(in_order and not over)

    def add(self, rows):
        """Adds tasks, each a list of texts."""
        self._api.call("POST", "/campaigns/%d/jobs" % self.id,
                       [json.dumps(row, ensure_ascii=False) for row in rows])


class _Follow:
    """Asks for results that were not seen yet (docs/api.md, results)."""

    def __init__(self, api, campaign):
        self._path = "/campaigns/%d/results?streams=stdout,stderr" % campaign
        self._api, self._highest, self._holes = api, -1, set()

    def fetch(self, in_order):
        if not in_order:
            holes = sorted(self._holes)
            for at in range(0, len(holes), 300):
                among = ",".join(map(str, holes[at:at + 300]))
                yield from self._some("&among=" + among)
        yield from self._some("&after=%d%s" % (self._highest, "&in_order=1" if in_order else ""))

    def _some(self, query):
        response = self._api.open("GET", self._path + query)
        connection = self._api.take()
        complete = False
        try:
            printed = {"stdout": [], "stderr": []}
            for line in response:
                frame = json.loads(line)
                if "stream" in frame:
                    printed[frame["stream"]].append(response.read(frame["bytes"]))
                elif "end" in frame:
                    self._mark(frame["task"])
                    yield TaskResult(frame, b"".join(printed["stdout"]),
                                     b"".join(printed["stderr"]))
                    printed = {"stdout": [], "stderr": []}
            complete = True
            self._api.give_back(connection)
        except (OSError, http.client.HTTPException):
            time.sleep(0.25)  # cut: what is missing is asked for again
        finally:
            if not complete:
                connection[0].close()

    def _mark(self, task):
        self._holes.discard(task)
        self._holes.update(range(self._highest + 1, task))
        self._highest = max(self._highest, task)


# ---------------------------------------------------------------- functions


class _Functions:
    """Packs calls so that a job can make them."""

    def __init__(self):
        self.folder = None
        self._count = itertools.count()

    def pack_call(self, function):
        main = sys.modules.get("__main__")
        script = getattr(main, "__file__", None)
        try:
            import cloudpickle
            blob, by_name = cloudpickle.dumps(function), False
        except ImportError:
            try:
                blob, by_name = pickle.dumps(function), True
            except Exception as error:
                raise TypeError("%r cannot be sent to a job: %s; give it a name at the top of a "
                                "module, or install cloudpickle" % (function, error)) from error
        if by_name and b"__main__" in blob and not script:
            raise TypeError("%r was typed in a session, where a job cannot find it: put it into "
                            "a file, or install cloudpickle" % (function,))
        needs_main = script is not None and by_name and b"__main__" in blob
        path = [os.path.abspath(p) for p in sys.path]
        return self._text(pickle.dumps(
            (path, os.path.abspath(script) if needs_main else None, os.getcwd(), blob)))

    def pack_item(self, args, kwargs):
        return self._text(pickle.dumps((args, kwargs), pickle.HIGHEST_PROTOCOL))

    def _text(self, data):
        if len(data) * 4 // 3 < _LINE_BYTES:
            return b2a_base64(data, newline=False).decode()
        if self.folder is None:
            self.folder = tempfile.mkdtemp(prefix=".cigri-", dir=os.getcwd())
        path = os.path.join(self.folder, "%d.pickle" % next(self._count))
        with open(path, "wb") as file:
            file.write(data)
        return "@" + path

    def clean(self):
        if self.folder:
            shutil.rmtree(self.folder, ignore_errors=True)
        self.folder = None


def _worker():
    """What a job's python3 -c runs: the beginning of this file. All of it would take three times as
    long to compile, in each job."""
    here = os.path.abspath(__file__)
    with open(here, "rb") as file:
        length = file.read().index(b"\n# A job needs nothing of what follows")
    return ("import sys; sys.path[:] = filter(None, sys.path); "  # not what lies in the job's folder
            "exec(compile(open(%r, 'rb').read(%d), %r, 'exec'))" % (here, length, here))


def _outcome_of(result):
    """(value, None) or (None, exception)."""
    if result.stdout:
        try:
            outcome = pickle.loads(result.stdout)
        except Exception as error:
            return None, TaskFailed("the outcome of task %d cannot be read: %s"
                                    % (result.task, error))
        if outcome[0]:
            return outcome[1], None
        error = outcome[1]
        error.__cause__ = RemoteTraceback(outcome[2])
        return None, error
    how = "signal %d" % result.signal if result.signal else "exit code %d" % result.exit
    text = result.stderr[-2000:].decode("utf-8", "replace").strip()
    return None, TaskFailed("task %d on %s: %s %s%s" % (
        result.task, result.cluster, result.code, how, "\n" + text if text else ""))


class Grid:
    """A grid, in the style of concurrent.futures.Executor. Settings are keys of the JDL:
    Grid(walltime="2h", cores=4, mem="2G"); a number as walltime is seconds. `clusters`: names; all when not given."""

    def __init__(self, api=None, clusters=None, name=None, python=None, **settings):
        main = sys.modules["__main__"]
        if hasattr(main, "_cigri_imports"):
            raise RuntimeError('a job imports this script to find its function, and must not start '
                               'its work again: put it below if __name__ == "__main__":')
        sys.modules.setdefault("__mp_main__", main)  # in jobs the script's classes are of this one
        self._api = _Api(api)
        self._clusters, self._settings = clusters, settings
        self._name, self._python = name, python or sys.executable
        self._functions = _Functions()
        self._campaigns, self._open, self._lock = [], {}, threading.Lock()
        self._shut = False

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        if kind is not None:
            self.cancel()
        self.shutdown(wait=kind is None)

    def campaign(self, argv, params=None, **settings):
        """Runs a program: words with the placeholders of gridsub ({}, {1}, {name}), and for each
        task a text, a list of texts, or a dict of columns. Without `params` it runs once."""
        rows = iter([()] if params is None else params)
        first = next(rows, None)
        if first is None:
            raise ValueError("there are no parameters: nothing to run")
        columns = [str(c) for c in first] if isinstance(first, dict) else []

        def values(row):
            if isinstance(row, dict):
                return [str(row[c]) for c in columns]
            if isinstance(row, (str, int, float)):
                return [str(row)]
            return [str(value) for value in row]

        alone = re.compile(r"\{[^{}]*\}\Z")
        words = [argv] if isinstance(argv, str) else list(argv)
        line = words[0] if isinstance(argv, str) else " ".join(
            word if alone.match(word) else shlex.quote(word) for word in words)
        return self._create(line, map(values, itertools.chain([first], rows)), columns,
                            os.path.basename(shlex.split(words[0])[0]), settings)

    def _create(self, exec_file, rows, columns, name, settings):
        clusters = self._clusters
        if clusters is None:
            clusters = [c["name"] for c in self._api.call("GET", "/clusters")["items"]]
        jdl = {"name": self._name or name, "exec_file": exec_file, "format": "values",
               "exec_directory": os.getcwd(), "clusters": {c: {} for c in clusters}}
        jdl.update(self._settings)
        jdl.update(settings)
        for key in ("walltime", "prologue_walltime", "epilogue_walltime"):
            if isinstance(jdl.get(key), (int, float)):
                jdl[key] = "%ds" % jdl[key]  # a JDL reads a number without a unit as hours
        if columns:
            jdl["columns"] = columns
        upload = _upload(self._api, rows)
        query = {"upload": upload, "format": "values"}
        if columns:
            query["columns"] = ",".join(columns)
        body = self._api.call("POST", "/campaigns?" + urllib.parse.urlencode(query), jdl)
        for note in body.get("notes", ()):
            warnings.warn(str(note), stacklevel=3)
        campaign = Campaign(self._api, body["id"])
        self._campaigns.append(campaign)
        return campaign

    def _call(self, function, items):
        line = "exec %s -c %s %s {1}" % (shlex.quote(self._python), shlex.quote(_worker()),
                                         shlex.quote(self._functions.pack_call(function)))
        return self._create(line, ([item] for item in items), [],
                            getattr(function, "__name__", "python"), {})

    def map(self, function, *iterables):
        """The results of function(*items), in order, as they come. Raises what a call raised, with
        its traceback in the job as the cause. Items are sent at once; neither they nor the results
        are kept in memory."""
        items = (self._functions.pack_item(args, {}) for args in zip(*iterables))
        first = next(items, None)
        if first is None:
            return iter(())
        campaign = self._call(function, itertools.chain([first], items))
        return self._results(campaign)

    @staticmethod
    def _results(campaign):
        number = 0
        for result in campaign.results(in_order=True):
            if result.task != number:
                break
            number += 1
            value, error = _outcome_of(result)
            if error is not None:
                raise error
            yield value
        total = campaign.progress()["total"]
        if number < total:
            raise TaskFailed("%d of %d tasks did not run: %r was cancelled or stopped" % (
                total - number, total, campaign))

    def submit(self, function, /, *args, **kwargs):
        """A concurrent.futures.Future for function(*args, **kwargs). Calls of one function are
        tasks of one campaign."""
        item = self._functions.pack_item(args, kwargs)
        future = concurrent.futures.Future()
        with self._lock:
            if self._shut:
                raise RuntimeError("the grid was shut down")
            calls = self._open.get(function)
            if calls is None:
                calls = self._open[function] = _Calls(self, function)
            calls.add(item, future)
        return future

    def cancel(self):
        """Cancels all campaigns of this object."""
        for calls in self._all_open():
            calls.stop()
        for campaign in self._campaigns:
            campaign.cancel()

    def shutdown(self, wait=True):
        with self._lock:
            self._shut = True
        for calls in self._all_open():
            calls.close(wait)
        if wait:
            self._functions.clean()

    def _all_open(self):
        with self._lock:
            return list(self._open.values())

    def _forget(self, function, calls):
        """They take no more: the next submit() begins others."""
        with self._lock:
            if self._open.get(function) is calls:
                del self._open[function]


class _Calls:
    """The calls of one function: a thread sends them, some at once, and fetches their results."""

    def __init__(self, grid, function):
        self._grid, self._function = grid, function
        self._new, self._sent = collections.deque(), []
        self._closed = self._stopped = False
        self._left = 0
        self._wake = threading.Condition()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def add(self, item, future):
        with self._wake:
            self._new.append((item, future))
            self._wake.notify()

    def close(self, wait):
        with self._wake:
            self._closed = True
            self._wake.notify()
        self._thread.join(None if wait else 5)

    def stop(self):
        with self._wake:
            self._stopped = True
            self._wake.notify()

    def _take(self):
        taken = []
        with self._wake:
            while not self._new and not self._left and not self._closed and not self._stopped:
                self._wake.wait()
            while self._new and len(taken) < _BLOCK_LINES:
                item, future = self._new.popleft()
                if future.set_running_or_notify_cancel():
                    taken.append((item, future))
        return taken

    def _run(self):
        campaign = follow = None
        try:
            while True:
                taken = self._take()
                self._sent += [future for _, future in taken]
                if self._stopped:
                    break
                if taken:
                    items = [item for item, _ in taken]
                    self._left += len(taken)
                    if campaign is None:
                        campaign = self._grid._call(self._function, items)
                        follow = _Follow(self._grid._api, campaign.id)
                        if self._stopped:  # while it was sent
                            campaign.cancel()
                    else:
                        campaign.add([[item] for item in items])
                elif self._left == 0 and self._closed:
                    return
                if self._left:
                    self._fetch(campaign, follow)
        except BaseException as error:
            self._fail(error)
        else:
            self._fail(TaskFailed("the campaign was cancelled"))

    def _fetch(self, campaign, follow):
        progress = campaign.progress()
        for result in follow.fetch(False):
            value, error = _outcome_of(result)
            future, self._sent[result.task] = self._sent[result.task], None
            self._left -= 1
            if error is None:
                future.set_result(value)
            else:
                future.set_exception(error)
        if self._left and progress["over"] and progress["total"] == len(self._sent):
            raise TaskFailed("%r ended before all its tasks did: %s" % (
                campaign, progress.get("state_reason") or progress["state"]))
        with self._wake:
            if self._left and not self._new:
                self._wake.wait(0.05)

    def _fail(self, error):
        self._grid._forget(self._function, self)  # first: nothing is added after what follows
        for future in self._sent:
            if future is not None and not future.done():
                future.set_exception(error)
        while self._new:
            _, future = self._new.popleft()
            if future.set_running_or_notify_cancel():
                future.set_exception(error)
