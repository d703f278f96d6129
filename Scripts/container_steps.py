"""Turns a stage of a Dockerfile into a script for bash, which carries out its steps in a root without Docker. Scripts/check-container runs it.

    python3 Scripts/container_steps.py DOCKERFILE 1    the first stage

The script has the steps as they are written. It needs: CONTEXT, the folder of the build; OUTPUT, where files of an earlier stage are; ARGUMENTS,
values of ARG. It defines: RUN_ENVIRONMENT, ENTRYPOINT, HEALTHCHECK and VOLUMES, arrays; RUN_USER. What it does not know ends it.
"""

import json
import re
import shlex
import sys

KNOWN = {"FROM", "ARG", "ENV", "WORKDIR", "COPY", "RUN", "USER", "VOLUME", "EXPOSE", "HEALTHCHECK", "ENTRYPOINT"}


def instructions(path):
    text = "\n".join(line for line in open(path).read().split("\n") if not line.startswith("#"))
    for line in re.sub(r"\\\n\s*", " ", text).split("\n"):
        if line.strip():
            name, _, rest = line.strip().partition(" ")
            yield name, rest.strip()


def stages(path):
    found = []
    for name, rest in instructions(path):
        if name not in KNOWN:
            sys.exit(f"{path}: there is no step for {name}")
        if name == "FROM":
            found.append([])
        found[-1].append((name, rest))
    return found


def array(words):
    return "(" + " ".join(shlex.quote(word) for word in words) + ")"


def step(name, rest):
    if name == "FROM":
        image = rest.split()[0]
        suite = re.search(r"bookworm|trixie", image).group()
        yield f"begin {shlex.quote(image)} {suite}"
    elif name == "ARG":
        variable, _, value = rest.partition("=")
        yield f"export {variable}=${{{variable}:-{shlex.quote(value)}}}"
    elif name == "ENV":
        for word in shlex.split(rest):
            variable, _, value = word.partition("=")
            yield f"export {variable}={shlex.quote(value)}; RUN_ENVIRONMENT+=({shlex.quote(word)})"
    elif name == "WORKDIR":
        yield f"mkdir -p {rest}; cd {rest}"
    elif name == "COPY":
        words = rest.split()
        source = '"$OUTPUT"' if words[0].startswith("--from=") else '"$CONTEXT"'
        words = [word for word in words if not word.startswith("--")]
        # Patterns are not quoted.
        yield f"copy {source} {words[-1]} " + " ".join(shlex.quote(word) for word in words[:-1])
    elif name == "RUN":
        yield "run " + shlex.quote(rest)
    elif name == "USER":
        yield f"RUN_USER={shlex.quote(rest)}"
    elif name == "VOLUME":
        yield "VOLUMES=" + array(json.loads(rest))
    elif name == "ENTRYPOINT":
        yield "ENTRYPOINT=" + array(json.loads(rest))
    elif name == "HEALTHCHECK":
        yield "HEALTHCHECK=" + array(json.loads(rest.partition("CMD ")[2]))


def main():
    path, number = sys.argv[1], int(sys.argv[2])
    all_stages = stages(path)
    print("RUN_ENVIRONMENT=() ENTRYPOINT=() HEALTHCHECK=() VOLUMES=() RUN_USER=0")
    for name, rest in all_stages[number - 1]:
        for line in step(name, rest):
            print(line)
    # What a later stage copies from this one.
    for name, rest in [item for stage in all_stages[number:] for item in stage]:
        if name == "COPY" and rest.startswith("--from="):
            print("keep " + " ".join(shlex.quote(word) for word in rest.split()[1:-1]))


main()
