// Package llm describes a language model checkpoint: its layers, the weights of each and how they are stored, its bytes
// on disk and per token in the KV cache. It reads a config.json, an index or the headers of safetensors files. One file
// a family of architectures.
package llm
