"""Two processes that train on one device at once. With vramspan each gets half of the budget."""
import json
import os
import subprocess
import sys

environment = dict(os.environ)
budget = environment.get("VRAMSPAN_DEVICE_MEMORY", "")
if budget.endswith("MiB"):
    environment["VRAMSPAN_DEVICE_MEMORY"] = f"{int(budget[:-3]) // 2}MiB"
here = os.path.dirname(os.path.abspath(__file__))
both = [subprocess.Popen([sys.executable, os.path.join(here, "train.py"), "8", str(width)], env=environment,
                         stdout=subprocess.PIPE, text=True) for width in (1024, 768)]
said = [json.loads(p.communicate()[0].strip().splitlines()[-1]) for p in both]
print(json.dumps({"result": " ".join(s["result"] for s in said), "peak_mib": sum(s["peak_mib"] for s in said),
                  "ms": {"first": said[0]["ms"]["step"], "second": said[1]["ms"]["step"]}}))
sys.exit(max(p.returncode for p in both))
