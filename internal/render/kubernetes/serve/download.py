# Downloads the weights into the volume, and says so once they are complete. What an earlier start has downloaded is kept.
import json
import os
import pathlib
import sys

from huggingface_hub import snapshot_download

folder = pathlib.Path(os.environ["FOLDER"])
done = folder / ".railwright-complete"
if done.exists():
    print(f"{folder}: complete since an earlier start")
    sys.exit(0)
snapshot_download(
    os.environ["MODEL"],
    local_dir=folder,
    allow_patterns=json.loads(os.environ["ONLY"]),
    ignore_patterns=json.loads(os.environ["EXCEPT"]),
)
files = sorted(folder.glob("*.safetensors"))
index = folder / "model.safetensors.index.json"
if index.exists():
    wanted = set(json.loads(index.read_text())["weight_map"].values())
    missing = sorted(wanted - {f.name for f in files})
    if missing:
        sys.exit(f"{folder}: {len(missing)} of {len(wanted)} files of the index are missing, such as {missing[0]}")
if not files:
    sys.exit(f"{folder}: no *.safetensors in {os.environ['MODEL']}")
size = sum(f.stat().st_size for f in files)
least = int(os.environ["LEAST_BYTES"])
if size < least:
    sys.exit(f"{folder}: {size} bytes of weights, expected are {least} at least")
done.write_text(f"{os.environ['MODEL']} {size} bytes\n")
print(f"{folder}: complete, {len(files)} files, {size} bytes")
