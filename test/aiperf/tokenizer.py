# A tokenizer of single characters, as AIPerf wants it: a folder that is read without a network. Made in a second.
import json, os, sys
from tokenizers import Tokenizer, decoders, models, pre_tokenizers

alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
vocabulary = {c: i for i, c in enumerate(["<s>", "</s>"] + alphabet)}
t = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
t.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
t.decoder = decoders.ByteLevel()
os.makedirs(sys.argv[1], exist_ok=True)
t.save(sys.argv[1] + "/tokenizer.json")
with open(sys.argv[1] + "/tokenizer_config.json", "w") as f:
    json.dump({"tokenizer_class": "PreTrainedTokenizerFast", "bos_token": "<s>", "eos_token": "</s>", "model_max_length": 4096, "clean_up_tokenization_spaces": False}, f)
