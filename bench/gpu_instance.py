#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""PyTorch weights on a GPU from their registration to the decision at serve: a real assayd, a real node
agent, a process that serves. One run measures everything that is asked of speed.

Usage: bench/gpu_instance.py --bin DIR [--gib N] [--parts NAMES] [--json FILE] ...

Parts, in this order:
  plain         a plain buffer hashed and read by gpu_hash_device_bench, before the weights are there
  verification  registration, a job, full passes: rates, bytes copied, memory that the node agent uses
  untagged      full passes that make no tags, as --watch-check sha256 has them
  flips         bytes changed on the device while a decode loop runs: time to the denied decision
  release       time until the node agent has let go of all pieces
  watch         both loads alone, watched and alone again, the whole model every 2 s in 9 slices
  hints         the same with hints of the serving process, saturated and with idle time (--hints)
  sweep         other periods and numbers of slices, as many as the time allows
  replaced      exports of one piece become those of another allocation: time to the denied decision (models
                of few pieces alone: 16 of them are drawn in a period)
  death         time from the death of the serving process until its memory is free
With --gpus 2: one process for each GPU, ranks of one instance, against one of them alone; then the second
claims that its memory lies on the first GPU, and what comes of it is written down. Nothing else.

A part that fails is written into the JSON as such, and the next one runs; so is one that the time left
(--budget) does not allow. `--manifest PREFIX` keeps the manifests for the next run with the same --gib.
Ends with 1 when weights were not verified, a flipped byte was not found, or the wrong tensor was named.
"""
import argparse
import contextlib
import datetime
import json
import os
import pathlib
import random
import re
import subprocess
import sys
import time

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parent)]

from instance import figures, site  # noqa: E402
from instance.site import Failed, Gpu, Owner, Site  # noqa: E402

LOADS = ("decode", "products")
PLAN = figures.PLAN
# Of the sweep: period in seconds and slices, most telling first.
SWEEP = [(2.0, 1), (2.0, 25), (2.0, 8), (4.0, 8), (1.0, 8), (4.0, 25), (1.0, 1), (4.0, 1), (1.0, 25)]
IDLE = 0.05  # of the time, in the runs with idle time
PARTS = ("plain", "verification", "untagged", "flips", "release", "watch", "hints", "sweep", "replaced", "death")
LINGER = 11  # seconds: the agent's own engine ends when it was not used for 10 (worker/engine_on_demand.h)
FLIP_GRACE = 0.5  # seconds beyond the period until the decision is a denial
DRAWN = 16  # pieces of a period
MAX_REPLACED = 40  # periods that finding a replaced piece may take on average
HOST_MIB = 512  # of the node agent, beyond OpenCL


def plain(run):
    """A plain buffer of the same size in the same run, with the same cache of kernels."""
    options, service = run.options, run.site.service
    file = service.dir / "plain.json"
    size = f"gib={max(1, int(options.gib))}"
    done = subprocess.run([str(options.bin / "gpu_hash_device_bench"), size, "stream=0", "sweep=0",
                           f"json={file}"], env=service.env, text=True, capture_output=True, timeout=180)
    if done.returncode != 0:
        raise Failed(done.stdout[-500:] + done.stderr[-500:])
    rows = json.loads(file.read_text())["figures"]

    def row(start):
        return next((one for one in rows if one["name"].startswith(start)), {})

    tags = row("keyed tags alone")
    return {"sha256_gbps": row("SHA-256 tree, resident").get("gbps"), "bytes": row("SHA-256 tree, res").get("bytes"),
            "sha256_with_tags_gbps": row("SHA-256 tree with keyed tags").get("gbps"),
            "tags_gbps": tags.get("gbps"), "reading_gbps": tags.get("limit_gbps")}


def add_verification(report, bytes_, found):
    report.add("registration", found["registration"]["seconds"], "s", pieces=found["registration"]["pieces"])
    report.add("job, from its start to its report", found["job_seconds"], "s", bytes=bytes_)
    times = {part: [one[f"{part}_seconds"] for one in found["hashed"]] for part in ("exports", "imports", "hashing")}
    if found["hashed"]:
        add_pass(report, bytes_, "a full pass in place, with tags", found["hashed"])
    if found["passes"]:
        report.add("full pass with exports and imports", round(min(one["seconds"] for one in found["passes"]), 3),
                   "s", **times)
    copied = bytes_ - found["memory"]["in_place"]
    report.add("bytes copied", copied, "B", 0, staged=found["memory"]["staged"])
    if found["agent_device_mib"]:
        report.add("device memory of the node agent", found["agent_device_mib"], "MiB", 614)
    report.add("host memory of the node agent with its readers", found["agent_mib"], "MiB", HOST_MIB)


def add_pass(report, bytes_, name, hashed):
    """The fastest full pass against a plain buffer."""
    plain_gbps = report.json["parts"].get("plain", {}).get("sha256_gbps")
    rate = bytes_ / min(one["hashing_seconds"] for one in hashed) / 1e9
    report.add(name, round(rate, 2), "GB/s", seconds=[one["hashing_seconds"] for one in hashed])
    if plain_gbps:
        report.add(f"a plain buffer against {name}", round(plain_gbps / rate, 3), "x", 1.1)


class Run:
    """One process that serves on one GPU."""

    def __init__(self, options, report, place, owner, artifact):
        self.options, self.report, self.site = options, report, place
        self.owner, self.artifact = owner, artifact
        self.bytes = owner.found["bytes"] if owner else 0
        self.gpu, self.last_alone = Gpu(), None

    @contextlib.contextmanager
    def watched(self, period, slices, hints=False):
        """Registered, verified and watched by a node agent of this plan."""
        with self.site.agent(period, slices):
            try:
                self.owner.ask("register", artifact=self.artifact, hints=hints)
                self.site.verified(self.artifact)
                yield
            finally:
                self.owner.ask("close")

    def loop(self, load, hints=False, idle=False):
        """A load for some seconds. Without idle time, hints are also moments that are offered to the watch."""
        seconds, how = self.options.seconds, {}
        if idle:
            how = {"idle": IDLE, "idle_after": self.options.idle_after}
        elif hints:
            how = {"offer_ms": self.options.offer_ms}
        return self.owner.ask("loop", 120 + 4 * seconds, load=load, seconds=seconds, hints=hints, **how)

    def alone(self):
        return {load: self.loop(load) for load in self.options.loads}

    def idle_alone(self):
        return {load: self.loop(load, hints=True, idle=True) for load in self.options.loads}

    # Parts.

    def verification(self):
        with self.site.agent() as agent:
            registration = self.owner.ask("register", artifact=self.artifact)
            self.owner.ask("exports", clear=True)
            job = self.site.verified(self.artifact)
            first = self.owner.ask("exports")["pass"]
            passes = [self.owner.ask("verify", 120) for _ in range(3)]
            hashed = site.passes(agent)
            if self.gpu.used_mib() is not None:
                time.sleep(LINGER)
            pids = site.tree(agent.process.pid)
            found = {"registration": registration, "result": job["result"], "memory": job["detail"].get("memory"),
                     "device": job["detail"].get("device"), "waited": job["waited"], "job_pass": first, "hashed": hashed,
                     "job_seconds": seconds_of(job["detail"]), "passes": passes, "agent_mib": site.resident_mib(pids),
                     "agent_device_mib": self.gpu.used_by_mib(pids),
                     "device_mib_by_process": {name: self.gpu.used_by_mib([pid]) for pid, name in site.names(pids)}}
            self.owner.ask("close")
        add_verification(self.report, self.bytes, found)
        return found

    def untagged(self):
        """Jobs and `verify_now` hash all bytes with SHA-256 alone."""
        with self.site.agent(check="sha256") as agent:
            self.owner.ask("register", artifact=self.artifact)
            self.site.verified(self.artifact)
            for _ in range(3):
                self.owner.ask("verify", 120)
            hashed = site.passes(agent)
            self.owner.ask("close")
        add_pass(self.report, self.bytes, "a full pass in place, without tags", hashed)
        return {"hashed": hashed}

    def flips(self):
        draw, cases = random.Random(7), []
        with self.watched(*PLAN):
            loop = self.owner.tell("start", load="decode")
            try:
                for number in range(self.options.flips):
                    cases.append(self._flip(draw, localise=number == 0))
            finally:
                self.owner.tell("stop")
                loop = self.owner.answer(loop)
        late = [case["seconds"] for case in cases]
        named = all(case["named"] for case in cases)
        self.report.add("flipped byte to denied decision, the slowest of " + str(len(cases)), max(late), "s",
                        PLAN[0] + FLIP_GRACE, seconds=late, tensor_named=named,
                        ranges_named=sum(case["range_named"] for case in cases), steps_during=loop["steps"])
        return {"cases": cases, "named": named, "loop": loop}

    def _flip(self, draw, localise):
        """One flipped bit, found; then the byte as it was, verified again."""
        names, sizes = self.owner.found["tensors"], self.owner.found["tensor_bytes"]
        number = draw.randrange(len(names))
        place = {"tensor": names[number], "byte": draw.randrange(sizes[number]), "bit": draw.randrange(8)}
        time.sleep(draw.uniform(0, PLAN[0]))
        at = self.owner.ask("flip", **place)["at"]
        denied, reasons = self.site.wait_for(self.artifact, False)
        case = {**place, "seconds": round(denied - at, 3), "reasons": reasons}
        case["owner"], ranges = self._told(place["tensor"])
        case["named"] = "instance-violated" in reasons and any(
            finding[1] == place["tensor"] for finding in case["owner"]["findings"])
        case["told_seconds"] = round(time.time() - at, 3)
        if localise:
            job = self.site.job(self.artifact)
            case["job"] = {"result": job["result"], "ranges": find_ranges(job["detail"], place["tensor"])}
            ranges = ranges + case["job"]["ranges"]
        case["range_named"] = any(begin <= place["byte"] < end for begin, end in ranges)
        self.owner.ask("flip", **place)
        self.site.verified(self.artifact)
        return case

    def _told(self, tensor):
        """What the owner is told of a change, with the byte ranges: they come a little later, or not at all."""
        end = time.time() + 2
        while True:
            state = self.owner.ask("state")
            ranges = [[int(number) for number in found] for _, name, detail in state["findings"] if name == tensor
                      for found in re.findall(r"bytes (\d+) to (\d+)", detail)]
            if ranges or time.time() > end:
                return state, ranges
            time.sleep(0.02)

    def release(self):
        with self.watched(*PLAN):
            found = self.owner.ask("release")
        self.report.add(f"release of {found['pieces']} pieces", found["seconds"], "s", 0.5)
        return found

    def watch(self):
        """Alone, watched, the same with hints, alone again."""
        before = self.alone()
        with self.watched(*PLAN):
            time.sleep(1)
            watched = self.alone()
        idle = [self.idle_alone()] if self.options.hints else []
        hinted = self.report.part("hints", self.hinted, 4 * self.seconds() + 60) if self.options.hints else None
        idle += [self.idle_alone()] if hinted else []
        after = self.last_alone = self.alone()
        for load in self.options.loads:
            around = [before[load], after[load]]
            figures.add_watch(self.report, self.bytes, watched[load], around, load, *PLAN)
            if hinted:
                figures.add_watch(self.report, self.bytes, hinted["saturated"][load], around, load, *PLAN,
                                  hints="registration.hints")
                figures.add_watch(self.report, self.bytes, hinted["idle"][load], [one[load] for one in idle],
                                  load, *PLAN,
                                  hints="registration.hints", idle=True)
        return {"alone": [before, after], "watched": watched, "idle_alone": idle}

    def hinted(self):
        # Each in a registration of its own: slices that a process offered time for in a row come in a row
        # for some periods more.
        found = {"idle_after_seconds": self.options.idle_after, "offer_ms": self.options.offer_ms}
        for name, idle in (("saturated", False), ("idle", True)):
            with self.watched(*PLAN, hints=True):
                time.sleep(1)
                found[name] = {load: self.loop(load, hints=True, idle=idle) for load in self.options.loads}
        return found

    def sweep(self):
        """Other plans, two between two runs alone, until the time is over."""
        plans = [(float(p), int(s)) for p, s in (one.split("x") for one in self.options.plans.split(","))] \
            if self.options.plans else SWEEP
        done, before = [], self.last_alone or self.alone()
        for at in range(0, len(plans), 2):
            pair = {}
            for plan in plans[at:at + 2]:
                if self.report.left() < 2 * self.seconds() + 15 + self.seconds():
                    break
                found = self.report.part(f"sweep {plan[0]:g}x{plan[1]}", lambda plan=plan: self._watched_by(plan))
                if found:
                    pair[plan] = found
            if not pair:
                break
            after = self.alone()
            for plan, found in pair.items():
                done.append(plan)
                for load in self.options.loads:
                    figures.add_watch(self.report, self.bytes, found[load], [before[load], after[load]], load, *plan)
            before = after
        return {"done": done, "left_out": [plan for plan in plans if plan not in done]}

    def _watched_by(self, plan):
        with self.watched(*plan):
            time.sleep(1)
            return self.alone()

    def seconds(self):
        """About how long all loads take once."""
        return len(self.options.loads) * (self.options.seconds + 1.5)

    def replaced(self):
        """A piece is replaced, and the package does not look: drawing pieces at random finds it."""
        period, slices = PLAN
        with self.watched(period, slices):
            pieces = self.owner.ask("exports")["pieces"]
            periods = pieces / DRAWN
            if periods > MAX_REPLACED:
                raise Failed(f"{pieces} pieces: it would take {periods * period:.0f} s on average")
            found = self.owner.ask("replace", piece=pieces // 2)
            try:
                denied, reasons = self.site.wait_for(self.artifact, False, limit=3 * periods * period)
            except Failed as error:
                raise Failed(f"{error}; {found}; {self.owner.ask('replacements')}") from None
        seconds = round(denied - found["at"], 3)
        self.report.add(f"one of {pieces} pieces replaced, until the denied decision", seconds, "s",
                        average_seconds=round(periods * period, 1), reasons=reasons)
        return {"seconds": seconds, "reasons": reasons, **found}

    def death(self):
        """The serving process is killed while it is watched; its memory is free when nobody imports it."""
        if self.gpu.used_mib() is None:
            raise Failed("NVML is missing")
        with self.site.agent(*PLAN) as agent:
            self.owner.ask("register", artifact=self.artifact)
            self.site.verified(self.artifact)
            before = self.gpu.used_mib()
            self.owner.end()
            ended, used = time.monotonic(), before
            while time.monotonic() - ended < 20:
                used = self.gpu.used_mib()
                if before - used >= 0.98 * (self.bytes >> 20):
                    break
                time.sleep(0.005)
            seconds = round(time.monotonic() - ended, 3)
            ours = self.gpu.used_by_mib(site.tree(agent.process.pid))
        self.report.add("death of the serving process until its memory is free", seconds, "s", 1.0)
        return {"seconds": seconds, "used_mib": [before, used], "agent_device_mib": ours}


def seconds_of(detail):
    """From the start of a job's work to its end, by the node agent's clock."""
    start, end = (datetime.datetime.fromisoformat(detail[name].replace("Z", "+00:00"))
                  for name in ("started_at", "finished_at"))
    return round((end - start).total_seconds(), 3)


def find_ranges(detail, tensor):
    """Byte ranges that a job's detail names for a tensor."""
    found = []

    def look(value):
        if isinstance(value, dict):
            if value.get("tensor") == tensor:
                found.extend(value.get("ranges", []))
            for one in value.values():
                look(one)
        elif isinstance(value, list):
            for one in value:
                look(one)

    look(detail)
    return found


# --- several GPUs

def ranks(report, place, owners, artifacts):
    """All ranks of one instance against the first of them alone: time and rate of full passes."""
    found, alone = {}, owners[0].found["bytes"]
    with place.agent() as agent:
        for name, chosen, artifact in (("one", owners[:1], artifacts[0]), ("all", owners, artifacts[-1])):
            for rank, owner in enumerate(chosen):
                owner.ask("register", artifact=artifact, rank=rank, world=len(chosen))
            for owner in chosen:
                owner.ask("exports", clear=True)
            job = place.verified(artifact)
            passes = []
            for _ in range(5):
                before = len(site.passes(agent))
                for owner in chosen:
                    owner.ask("exports", clear=True)
                asked = chosen[0].ask("verify", 120)
                seen = [asked["pass"], *(owner.ask("exports")["pass"] for owner in chosen[1:])]
                passes.append({"seconds": asked["seconds"], "state": asked["state"], "passes": seen,
                               "hashed": site.passes(agent)[before:]})
            found[name] = {"bytes": sum(owner.found["bytes"] for owner in chosen), "memory": job["detail"]["memory"],
                           "job_seconds": seconds_of(job["detail"]), "checks": passes}
            for owner in chosen:
                owner.ask("close")
    for name, length in (("full check, with exports and imports", lambda check: check["seconds"]),
                         ("full check, hashing alone", hashing)):
        times = {key: min(filter(None, map(length, one["checks"])), default=None) for key, one in found.items()}
        if None in times.values():
            continue
        rates = {key: found[key]["bytes"] / times[key] / 1e9 for key in found}
        report.add(f"{name}: {len(owners)} GPUs against one", round(rates["all"] / rates["one"], 3), "x",
                   0.95 * len(owners), at_least=True, seconds=times, gbps=rates, bytes_each=alone)
    found["result"] = "verified"
    return found


def false_device(place, owners, artifacts):
    """The first rank's tensors, on the first GPU, registered as memory of the second: what a job says."""
    with place.agent() as agent:
        owners[1].ask("register", artifact=artifacts[0], rank=0)
        second = owners[1].ask("claimed")["device"]
        owners[1].ask("close")
        try:
            owners[0].ask("register", artifact=artifacts[0], rank=0, device=second)
            job = place.job(artifacts[0])
            found = {"result": job["result"], "detail": job["detail"]}
        except Failed as error:
            found = {"result": "refused", "detail": str(error)}
        found["events"] = [event for event in agent.events if "failed" in event.get("event", "")]
    return found


def hashing(check):
    """Seconds that the slowest of the devices hashed. They do so at the same time, each on its own."""
    return max((one["hashing_seconds"] for one in check["hashed"]), default=None)


# --- the program

def measure_one(options, report, place):
    run = Run(options, report, place, None, None)
    if "plain" in options.parts:
        report.part("plain", lambda: plain(run))
    owner = report.part("serving process", lambda: Owner(options, place.socket))
    if owner is None:
        return False
    try:
        report.json["machine"] = f"{owner.found['device']}, {cores()} cores"
        report.json["bytes"], report.json["torch"] = owner.found["bytes"], owner.found["torch"]
        report.json["driver"] = run.gpu.driver()
        artifacts = report.part("manifest", lambda: place.publish([owner]))
        if not artifacts:
            return False
        run = Run(options, report, place, owner, artifacts[0])
        report.part("loads", lambda: owner.ask("prepare"))
        needs = {"watch": 3 * run.seconds() + 20, "sweep": 3 * run.seconds() + 20, "flips": 30, "death": 15}
        for name in PARTS[1:]:
            if name in options.parts and name != "hints":
                report.part(name, getattr(run, name), needs.get(name, 10))
    finally:
        owner.end()
    done = report.json["parts"]
    return (done.get("verification", {"result": "verified"}).get("result") == "verified" and
            done.get("flips", {"named": True}).get("named") is True)


def measure_ranks(options, report, place):
    owners = []
    try:
        for rank in range(options.gpus):
            owner = report.part(f"serving process {rank}",
                                lambda rank=rank: Owner(options, place.socket, rank, options.gpus))
            if owner is None:
                return False
            owners.append(owner)
        report.json["machine"] = f"{options.gpus} x {owners[0].found['device']}, {cores()} cores"
        report.json["bytes"], report.json["driver"] = sum(one.found["bytes"] for one in owners), Gpu().driver()
        artifacts = report.part("manifest", lambda: place.publish(owners))
        good = bool(artifacts and report.part("ranks", lambda: ranks(report, place, owners, artifacts)))
        if good:
            report.part("false device", lambda: false_device(place, owners, artifacts))
        return good
    finally:
        for owner in owners:
            owner.end()


def cores():
    return len(os.sched_getaffinity(0))


def some_of(known, text):
    """The names of this list; argparse shows the error when there is no such name."""
    names = tuple(text.split(","))
    unknown = [name for name in names if name not in known]
    if unknown:
        raise argparse.ArgumentTypeError(f"{', '.join(map(repr, unknown))}: there are {', '.join(known)}")
    return names


def parts_of(text):
    return some_of(PARTS, text)


def loads_of(text):
    return some_of(LOADS, text)


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, default=site.ROOT / "build/release/bin", help="assay and assayd")
    parser.add_argument("--gib", type=float, default=100, help="of weights on each GPU")
    parser.add_argument("--gpus", type=int, default=1)
    parser.add_argument("--parts", type=parts_of, default=PARTS, help="names, separated by commas (default: all)")
    parser.add_argument("--loads", type=loads_of, default=LOADS, help="names, separated by commas (default: both)")
    parser.add_argument("--seconds", type=float, default=20, help="of each run of a load")
    parser.add_argument("--budget", type=float, default=470, help="seconds that the whole run may take, about")
    parser.add_argument("--plans", help="of the sweep, such as 2x1,4x25: seconds of the period x slices")
    parser.add_argument("--flips", type=int, default=5)
    parser.add_argument("--hints", action="store_true", help="measure hints, too")
    parser.add_argument("--idle-after", type=float, default=0.12,
                        help="seconds of computing between two idle times; 0: after each step")
    parser.add_argument("--offer-ms", type=int, default=50,
                        help="with hints and no idle time: yield_slice() of so many milliseconds before each "
                             "step; 0: hints alone")
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    parser.add_argument("--agent-device", help="--device of the node agent")
    parser.add_argument("--manifest-device", default="cpu", help="--device of assay manifest create")
    parser.add_argument("--manifest", help="PREFIX of files that keep the manifests")
    parser.add_argument("--folder", help="for files of weights, some GiB at a time (default: shared memory)")
    parser.add_argument("--shard-gib", type=float, default=8, help="of weights in a file at a time, at most")
    parser.add_argument("--commit", default="")
    parser.add_argument("--json", type=pathlib.Path)
    options = parser.parse_args()
    options.folder = options.folder or ("/dev/shm" if pathlib.Path("/dev/shm").is_dir() else None)
    options.agent_device = options.agent_device or (
        "cpu" if options.device == "cpu" else "opencl:all" if options.gpus > 1 else "opencl")
    options.bin = options.bin.resolve()
    return options


def main():
    options = parse()
    report = figures.Report(options.json, options.budget, machine="", driver=None, commit=options.commit,
                            command=" ".join(["bench/gpu_instance.py", *sys.argv[1:]]))
    started = time.monotonic()
    with Site(options) as place:
        good = (measure_ranks if options.gpus > 1 else measure_one)(options, report, place)
    report.json["seconds"] = round(time.monotonic() - started, 1)
    report.write()
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
