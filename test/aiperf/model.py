# A LLaMA of random weights in llama.cpp's format: 2 layers of 64, a byte vocabulary. It says nothing of use; it is served
# by a real engine, with a KV cache and batches, which is what a load generator measures.
import sys, numpy as np
from gguf import GGUFWriter, TokenType
d, layers, heads, ff, ctx = 64, 2, 4, 128, 2048
g = np.random.default_rng(1)
w = GGUFWriter(sys.argv[1], "llama")
w.add_name("tiny-random"); w.add_context_length(ctx); w.add_embedding_length(d); w.add_block_count(layers)
w.add_feed_forward_length(ff); w.add_head_count(heads); w.add_head_count_kv(heads); w.add_layer_norm_rms_eps(1e-5)
w.add_rope_dimension_count(d // heads)
tokens = [b"<unk>", b"<s>", b"</s>"] + [b"<0x%02X>" % i for i in range(256)] + [b"\xe2\x96\x81"] + [bytes([c]) for c in range(33, 127)]
types = [TokenType.UNKNOWN, TokenType.CONTROL, TokenType.CONTROL] + [TokenType.BYTE] * 256 + [TokenType.NORMAL] * 95
n = len(tokens); w.add_vocab_size(n)
w.add_tokenizer_model("llama"); w.add_token_list(tokens); w.add_token_scores([0.0] * n); w.add_token_types(types)
w.add_bos_token_id(1); w.add_eos_token_id(2); w.add_unk_token_id(0); w.add_add_bos_token(True)
w.add_chat_template("{% for m in messages %}{{ m['content'] }}\n{% endfor %}")
ascii_rows = slice(n - 95, n)
def t(name, *shape, ones=False):
    w.add_tensor(name, np.ones(shape, np.float32) if ones else g.normal(0, 0.08, shape).astype(np.float32))
t("token_embd.weight", n, d)
head = np.zeros((n, d), np.float32); head[ascii_rows] = g.normal(0, 1, (95, d)); w.add_tensor("output.weight", head) # only printable characters
t("output_norm.weight", d, ones=True)
for i in range(layers):
    b = f"blk.{i}."
    t(b + "attn_norm.weight", d, ones=True); t(b + "ffn_norm.weight", d, ones=True)
    for q in ("attn_q", "attn_k", "attn_v", "attn_output"): t(b + q + ".weight", d, d)
    t(b + "ffn_gate.weight", ff, d); t(b + "ffn_up.weight", ff, d); t(b + "ffn_down.weight", d, ff)
w.write_header_to_file(); w.write_kv_data_to_file(); w.write_tensors_to_file(); w.close()
