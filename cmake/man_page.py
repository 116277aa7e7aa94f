"""Usage: man_page.py HELP2MAN PROGRAM PAGE HELP-OPTION VERSION INCLUDE

Writes the man page of PROGRAM, made by help2man from its --help. The first sentence of the help is
what the page is called in lists of pages (NAME)."""
import os
import subprocess
import sys

help2man, program, page, option, version, include = sys.argv[1:]
first = subprocess.run([program, "--help"], stdout=subprocess.PIPE, text=True, check=True).stdout
name = first.split("\n")[0].rstrip(".")
os.makedirs(os.path.dirname(page), exist_ok=True)
subprocess.run([help2man, "--no-info", "--section=" + page[-1], "--name=" + name[0].lower() + name[1:],
                "--help-option=" + option, "--version-string=" + version, "--source=CiGri-NG " + version,
                "--manual=CiGri-NG", "--include=" + include, "--output=" + page, program],
               check=True)
