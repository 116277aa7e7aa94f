// python/cigri.py as its users run it: a script on a grid.
#include "tests/system/grid.h"

namespace cigri::test {
namespace {

class PythonTest : public SystemTest {
 protected:
  /// Runs a script whose functions are `functions` and whose work is `body`, indented by 8.
  Result Python(const std::string& functions, const std::string& body) {
    grid().Script("script.py",
                  "import sys\nsys.path.insert(0, '" CIGRI_SOURCE_DIR "/python')\nimport cigri\n" +
                      functions + "\nif __name__ == '__main__':\n    with cigri.Grid() as grid:\n" +
                      body);
    return grid().Run({"/usr/bin/python3", "-B", "script.py"});
  }
};

TEST_F(PythonTest, MapGivesTheResultsInOrder) {
  const auto ran =
      Python("import time\ndef f(x, y):\n    time.sleep(0.3 - x / 10)\n    return x * y\n",
             "        print(list(grid.map(f, range(4), 'abcd')))\n");
  EXPECT_EQ(ran.out, "['', 'b', 'cc', 'ddd']\n") << ran.err;
}

TEST_F(PythonTest, AnExceptionComesWithItsTracebackInTheJob) {
  const auto ran = Python("def inner(x):\n    return 1 / x\ndef f(x):\n    return inner(x)\n",
                          "        print([x for x in grid.map(f, [1, 0])])\n");
  EXPECT_EQ(ran.code, 1);
  EXPECT_NE(ran.err.find("ZeroDivisionError"), std::string::npos) << ran.err;
  EXPECT_NE(ran.err.find("in inner"), std::string::npos) << "the remote traceback: " << ran.err;
  EXPECT_NE(ran.err.find("RemoteTraceback"), std::string::npos) << ran.err;
}

TEST_F(PythonTest, AJobThatDiesIsAFailedTask) {
  const auto ran = Python("import os\ndef f(x):\n    os.write(2, b'last words')\n    os._exit(3)\n",
                          "        try:\n            grid.submit(f, 1).result()\n"
                          "        except cigri.TaskFailed as e:\n            print(e)\n");
  EXPECT_NE(ran.out.find("exit code 3"), std::string::npos) << ran.out << ran.err;
  EXPECT_NE(ran.out.find("last words"), std::string::npos) << ran.out;
}

TEST_F(PythonTest, FuturesCompleteAsTheirJobsEnd) {
  const auto ran = Python("import time\ndef f(x):\n    time.sleep(x)\n    return x\n",
                          "        futures = [grid.submit(f, x) for x in (2, 0)]\n"
                          "        print([f.result() for f in cigri.as_completed(futures)])\n");
  EXPECT_EQ(ran.out, "[0, 2]\n") << ran.err;
}

TEST_F(PythonTest, ACampaignRunsAProgramAndGivesItsResults) {
  const auto ran =
      Python("",
             "        c = grid.campaign(['sh', '-c', 'echo \"$0 $1\"; exit $1', '{k}', '{n}'],\n"
             "                          [{'k': 'a b', 'n': 0}, {'k': 'c', 'n': 3}], max_tries=1)\n"
             "        print(c.wait()['ok'])\n"
             "        for r in c.results(in_order=True):\n"
             "            print(r.values, r.ok, r.exit, r.stdout)\n");
  EXPECT_EQ(ran.out, "False\n['a b', '0'] True 0 b'a b 0\\n'\n['c', '3'] False 3 b'c 3\\n'\n")
      << ran.err;
}

// The setting had no effect, and nobody said so.
TEST_F(PythonTest, ASettingThatNobodyKnowsIsWarnedAbout) {
  const auto ran =
      Python("", "        print(grid.campaign(['true'], walltme='2h').wait()['ok'])\n");
  EXPECT_EQ(ran.out, "True\n") << ran.err;
  EXPECT_NE(ran.err.find("UserWarning: walltme: nobody knows this key"), std::string::npos)
      << ran.err;
}

TEST_F(PythonTest, AFileNameThatIsNoTextReachesTheProgram) {
  const auto ran = Python("",
                          "        import os\n"
                          "        name = os.fsdecode(b'caf\\xe9')\n"
                          "        c = grid.campaign(['printf', '%s', '{}'], [name])\n"
                          "        c.wait()\n"
                          "        print([r.stdout for r in c.results()])\n");
  EXPECT_EQ(ran.out, "[b'caf\\xe9']\n") << ran.err;
}

TEST_F(PythonTest, LargeArgumentsAndWhatIsPrintedDoNoHarm) {
  const auto ran = Python("def f(x):\n    print('noise')\n    return len(x)\n",
                          "        print(list(grid.map(f, ['x' * 300000, 'y'])))\n");
  EXPECT_EQ(ran.out, "[300000, 1]\n") << ran.err;
}

// All of it is slower to load than Python to start, and most scripts use it below __main__ alone.
TEST_F(PythonTest, AJobLoadsTheModuleOnlyWhenItUsesIt) {
  const auto ran = Python(
      "from cigri import TaskFailed\n"
      "class Own(TaskFailed):\n    pass\n"
      "def f(x):\n    return 'http.client' in sys.modules, sys.argv[0], cigri.__all__[0], "
      "__name__\n"
      "def g(x):\n    raise Own(x)\n",
      "        print(list(grid.map(f, [1])))\n"
      "        try:\n            grid.submit(g, 'mine').result()\n"
      "        except Own as e:\n            print(e)\n");
  const std::string path = grid().work() + "/script.py";
  EXPECT_EQ(ran.out, "[(True, '" + path + "', 'Grid', '__mp_main__')]\nmine\n") << ran.err;
  const auto unused = Python("def f(x):\n    return 'http.client' in sys.modules\n",
                             "        print(list(grid.map(f, [1])))\n");
  EXPECT_EQ(unused.out, "[False]\n") << unused.err;
}

// Each job would submit the campaign once more.
TEST_F(PythonTest, AScriptWithoutAGuardDoesNotStartItselfInItsJobs) {
  grid().Script("script.py", "import sys\nsys.path.insert(0, '" CIGRI_SOURCE_DIR
                             "/python')\nimport cigri\ndef f(x):\n    return x\n"
                             "with cigri.Grid(max_tries=1) as grid:\n"
                             "    print(list(grid.map(f, [1])))\n");
  const int before = grid().Submit(Arguments{"--once", "--", "true"});
  const auto ran = grid().Run({"/usr/bin/python3", "-B", "script.py"});
  EXPECT_EQ(ran.code, 1) << ran.out;
  EXPECT_NE(ran.err.find("RuntimeError: a job imports this script"), std::string::npos) << ran.err;
  EXPECT_EQ(grid().Submit(Arguments{"--once", "--", "true"}), before + 2) << "it was one campaign";
}

TEST_F(PythonTest, AnExceptionInTheBlockCancelsWhatRuns) {
  const auto ran = Python("import time\ndef f(x):\n    time.sleep(300)\n",
                          "        grid.submit(f, 1)\n        raise SystemExit(7)\n");
  EXPECT_EQ(ran.code, 7) << ran.err;
}

// The API closes a connection that has asked nothing for some seconds, and a POST on it broke off.
TEST_F(PythonTest, AScriptThatPausesForLongSubmitsAgain) {
  const auto ran = Python(
      "import select\nconnected = []\nconnect = cigri._UnixConnection.connect\n"
      "def kept(connection):\n    connect(connection)\n"
      "    connected.append(connection.sock)\n"
      "def pause():\n    while connected:\n        sock = connected.pop()\n"
      "        if sock.fileno() >= 0:\n            select.select([sock], [], [])\n"
      "cigri._UnixConnection.connect = kept\n"
      "def f(x):\n    return x\n",
      "        grid._clusters = ['alpha']\n"  // no GET first, which is asked again
      "        print(grid.submit(f, 1).result())\n"
      "        grid.campaign(['true']).wait()\n"
      "        pause()\n"
      "        print(grid.submit(f, 2).result())\n"
      "        print(grid.campaign(['true']).wait()['ok'])\n");
  EXPECT_EQ(ran.out, "1\n2\nTrue\n") << ran.err;
}

// Nobody took the calls that came after a failed one.
TEST_F(PythonTest, AfterAFailureTheSameFunctionIsSubmittedAgain) {
  const auto ran =
      Python("import time\ndef f(x):\n    time.sleep(x)\n    return x\n",
             "        grid._clusters = ['nowhere']\n"
             "        try:\n            grid.submit(f, 0).result(30)\n"
             "        except cigri.ApiError as e:\n            print('nowhere' in str(e))\n"
             "        grid._clusters = None\n"
             "        print(grid.submit(f, 0).result(30))\n"
             "        long = grid.submit(f, 300)\n"
             "        grid.cancel()\n"
             "        try:\n            long.result(30)\n"
             "        except cigri.TaskFailed as e:\n            print(e)\n"
             "        print(grid.submit(f, 0).result(30))\n"
             "        grid.shutdown()\n"
             "        try:\n            grid.submit(len, '')\n"
             "        except RuntimeError as e:\n            print(e)\n");
  EXPECT_EQ(ran.out, "True\n0\nthe campaign was cancelled\n0\nthe grid was shut down\n") << ran.err;
}

// It took the connection on which the results came: the rest of them was lost.
TEST_F(PythonTest, ACampaignInALoopOverResultsDoesNotCutThem) {
  const auto ran = Python("",
                          "        c = grid.campaign(['echo', '{}'], range(4))\n"
                          "        c.wait()\n"
                          "        for r in c.results(in_order=True):\n"
                          "            again = grid.campaign(['true'], clusters={'alpha': {}})\n"
                          "            print(r.stdout, again.wait()['ok'])\n");
  EXPECT_EQ(ran.out, "b'0\\n' True\nb'1\\n' True\nb'2\\n' True\nb'3\\n' True\n") << ran.err;
}

TEST_F(PythonTest, AnAddressThatOnlyTheToolsTakeIsRefusedWithAWayThatWorks) {
  for (const std::string address : {"ssh://far", "unix:/a.sock, unix:/b.sock"}) {
    const auto ran = grid().Run({"/usr/bin/env", "CIGRI_API=" + address,
                                 "PYTHONPATH=" CIGRI_SOURCE_DIR "/python", "/usr/bin/python3", "-B",
                                 "-c", "import cigri; cigri.Grid()"});
    EXPECT_EQ(ran.code, 1);
    EXPECT_NE(ran.err.find("ApiError: $CIGRI_API, '" + address + "', is none that Python takes"),
              std::string::npos)
        << ran.err;
    EXPECT_NE(ran.err.find("ssh -N -L /MY/api.sock:"), std::string::npos) << ran.err;
  }
}

}  // namespace
}  // namespace cigri::test
