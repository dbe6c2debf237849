"""undogmatic: `undogmatic run` as it is typed, with its journal and its cache."""

import csv
import json
import subprocess
import sys
from pathlib import Path

url, file, in_flight, out = sys.argv[1:5]
words = ["model=gpt", f"model.api_base={url}", "readout=structured", "dataset=texts"]
words += [f"dataset.path={file}", f"engine.concurrency={in_flight}", "analysis=none"]
words += ["tracking=none", "engine.cache_dir=cache", "hydra.run.dir=run"]
done = subprocess.run(
    [sys.executable, "-m", "undogmatic.cli", "run", *words], check=False
)
with Path("run", "scores.csv").open(encoding="utf-8", newline="") as table:
    rows = list(csv.DictReader(table))
scores = {
    row["item_id"]: float(row["score"]) / 100 if row["score"] else None for row in rows
}
Path(out).write_text(json.dumps(scores), encoding="utf-8")
sys.exit(done.returncode)
