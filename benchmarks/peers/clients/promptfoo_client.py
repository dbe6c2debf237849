"""promptfoo: `llm-rubric` on each text, which the provider `echo` gives back, with its defaults."""

import json
import subprocess
import sys
from pathlib import Path

url, file, in_flight, out, program = sys.argv[1:6]
texts = [
    json.loads(line) for line in Path(file).read_text(encoding="utf-8").splitlines()
]
grader = {
    "id": "openai:chat:gpt-4.1-mini",
    "config": {"apiBaseUrl": url, "apiKey": "none"},
}
rubric = {
    "type": "llm-rubric",
    "value": "Rate the text from 0 to 1.",
    "provider": grader,
}
config = {
    "prompts": ["{{text}}"],
    "providers": ["echo"],
    "defaultTest": {"assert": [rubric]},
    "tests": [{"vars": item} for item in texts],
}
Path("config.json").write_text(json.dumps(config), encoding="utf-8")
line = [
    program,
    "eval",
    "-c",
    "config.json",
    "-j",
    in_flight,
    "--no-cache",
    "--no-progress-bar",
]
done = subprocess.run([*line, "--no-table", "-o", "told.json"], check=False)
scores = dict.fromkeys(item["id"] for item in texts)
for result in json.loads(Path("told.json").read_text(encoding="utf-8"))["results"][
    "results"
]:
    own = (result.get("gradingResult") or {}).get("componentResults") or [{}]
    reason = str(own[0].get("reason"))
    read = own[0] and not result.get("error") and reason == "Stub."
    number = result["vars"]["id"]
    scores[number] = own[0].get("score") if read else None
    if own[0] and not read:  # a call that failed, told as a judge's verdict
        scores[f"bad:{number}"] = own[0].get("score")
Path(out).write_text(json.dumps(scores), encoding="utf-8")
# 100: a test did not pass
sys.exit(0 if done.returncode in (0, 100) else done.returncode)
