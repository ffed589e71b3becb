"""The dead man's switch on hosts: where a fault keeps the script that undoes it, and how it is released.

Each fault has files `FOLDER/<name>.*` on its hosts; `<name>.undo` is the script. See `nemeses.holding`.
"""

from __future__ import annotations

FOLDER = "/run/chaoskit/held"

UNDO = """
undo() { flock "$held.undo" bash -c '[ ! -e "$1" ] || { bash "$1" && rm "$1"; }' undo "$held.undo"; }
"""

SAY = """
say() { dd of="$held.pulse" conv=nocreat,notrunc oflag=nonblock status=none <<< "$1"; }
"""
"""Sends a word to the watchdog; fails if there is none. Unlike a redirection, it does not create a file."""

RELEASE = (
    UNDO
    + SAY
    + """
held=$1
say over 2> /dev/null
if [ -e "$held.undo" ]; then undo || exit; fi
if [ -e "$held.early" ]; then echo early; fi
rm -f "$held".*
"""
)

RELEASE_ALL = f"""
for script in {FOLDER}/*.undo; do
    [ -e "$script" ] || continue
    held=${{script%.undo}}
    bash --norc -c "$1" release "$held" > /dev/null || exit
    echo "fault ${{held##*/}}"
done
rm -rf {FOLDER}
"""
"""Undoes every fault that is on a host, whose harness is gone; prints a line for each. Its argument is `RELEASE`."""

TOOLS = ("bash", "flock", "setsid", "mkfifo", "dd")
"""The tools that a host needs for any fault that lasts."""
