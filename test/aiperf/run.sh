#!/usr/bin/env bash
# Lets the AIPerf that railwright serve load --print names measure a small model on this machine, and reads what it wrote.
# What is installed (2 GB, the engine is compiled: up to 30 minutes) and the results go to the folder of the first argument.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
work=$(mkdir -p "${1:?folder}" && cd "$1" && pwd)
railwright=${RAILWRIGHT:-$here/../../bin/railwright}
port=${PORT:-18098}
results=$work/results
mkdir -p "$results"

if ! [ -x "$work/engine/bin/python" ]; then
    python3 -m venv "$work/engine"
    CMAKE_ARGS="-DLLAVA_BUILD=OFF -DMTMD_BUILD=OFF -DGGML_OPENMP=OFF" "$work/engine/bin/pip" install --quiet 'llama-cpp-python[server]==0.3.36' gguf numpy
fi
"$work/engine/bin/python" "$here/model.py" "$work/tiny.gguf"

# The script that is printed installs AIPerf; its tokenizer library makes the tokenizer.
export TINY_TOKEN=any
"$railwright" serve load --print --url "http://127.0.0.1:$port" --model tiny-random --tokenizer "$work/tokenizer" --token-env TINY_TOKEN \
    --workload 64/32 --workload 200/20 --concurrency 1,2,4,8 --dir "$results" > "$work/load.sh"
if ! [ -x "$results/venv/bin/aiperf" ]; then
    python3 -m venv "$results/venv"
    "$results/venv/bin/pip" install --quiet "$(grep -o 'aiperf==[0-9.]*' "$work/load.sh" | head -n 1)"
fi
"$results/venv/bin/python" "$here/tokenizer.py" "$work/tokenizer"

"$work/engine/bin/python" -m llama_cpp.server --model "$work/tiny.gguf" --model_alias tiny-random --n_ctx 2048 --n_threads 1 --n_threads_batch 1 \
    --interrupt_requests False --host 127.0.0.1 --port "$port" > "$work/engine.log" 2>&1 &
engine=$!
trap 'kill "$engine"' EXIT
for _ in $(seq 60); do
    "$railwright" serve smoke "http://127.0.0.1:$port" --model tiny-random > "$work/smoke.txt" && break
    sleep 1
done
cat "$work/smoke.txt"
bash "$work/load.sh"
"$railwright" serve load "$results" --model tiny-random --ttft 500ms --rate 20 --html "$work/load.html"
